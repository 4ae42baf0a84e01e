"""The shared runner: measures, writes one record at a time, resumes, makes tables and pictures."""
