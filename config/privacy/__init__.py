"""The record of processing: what personal data the site holds, of whom, why, how long, and who receives it."""
