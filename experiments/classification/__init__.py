"""Classification with boosted trees on 30 small OpenML data sets (section 5, App. D)."""
