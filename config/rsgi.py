"""Entry point of granian (RSGI): Django behind `config.front`. `manage.py serve` starts it."""

from config.wsgi import application as wsgi_application  # isort: skip  (sets up Django)

from django.conf import settings

from config.front import Front

application = Front(wsgi_application, threads=settings.WEB_THREADS, body_seconds=settings.WEB_BODY_SECONDS)
