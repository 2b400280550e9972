"""Accounts of annotators who sign up. They are no users of the site: an account opens studies, nothing else."""

from django.db import models

from annotation.models.people import Annotator


class Account(models.Model):
    annotator = models.OneToOneField(Annotator, on_delete=models.CASCADE, related_name="account")
    email = models.EmailField(max_length=200, unique=True, help_text="In lower case.")
    password = models.CharField(max_length=200, help_text="Hashed by Django's hashers.")
    created_at = models.DateTimeField(auto_now_add=True)
    last_login = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"account {self.pk}"
