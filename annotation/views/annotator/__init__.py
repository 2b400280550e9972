"""The annotator's pages: coming in (`entry`), the steps before the work (`steps`), and the work (`work`)."""
