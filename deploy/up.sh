#!/bin/sh
# Starts the deployment of compose.yaml: `make up DOMAIN=touchstone.example`. Run it again after each change or upgrade.
set -eu
cd "$(dirname "$0")/.."
umask 077

[ -f .env ] || cp deploy/env.example .env
if [ -n "${DOMAIN:-}" ]; then
	sed -i "s/^DOMAIN=.*/DOMAIN=$DOMAIN/" .env
fi
if grep -q '^DOMAIN=\(touchstone\.example\)\?$' .env; then
	echo "Name the domain of the site: make up DOMAIN=touchstone.example. Its address record must lead to this machine." >&2
	exit 2
fi
for name in DJANGO_SECRET_KEY POSTGRES_PASSWORD METRICS_TOKEN GRAFANA_PASSWORD; do
	if grep -q "^$name=$" .env; then
		sed -i "s/^$name=$/$name=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')/" .env
	fi
done
unset DOMAIN

docker compose --profile watch up --detach --build --wait
echo "The site runs at https://$(sed -n 's/^DOMAIN=//p' .env). Create an administrator:"
echo "  docker compose exec web python manage.py createsuperuser"
