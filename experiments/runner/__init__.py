"""The shared runner: measures, writes records, resumes, makes tables and figures."""
