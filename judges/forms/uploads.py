"""What a browser says of a file that it is about to send in chunks."""

from django import forms

MOST_NAME = 200


class UploadBeginForm(forms.Form):
    """By what a file is known again: name, bytes, time of its last change in milliseconds, hash of its first MiB."""

    file_name = forms.CharField(max_length=1_000, strip=False)
    file_size = forms.IntegerField(min_value=0, max_value=2**53)
    file_modified = forms.IntegerField(min_value=-(2**53), max_value=2**53)
    file_head = forms.RegexField(r"^[0-9a-f]{64}\Z")

    def clean_file_name(self) -> str:
        name: str = self.cleaned_data["file_name"]
        return name[-MOST_NAME:]
