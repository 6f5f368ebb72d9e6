#!/usr/bin/env bash
# Does with the variables of the image `postgres` what that does.
set -euo pipefail
data=/var/lib/postgresql/data
if [[ ! -e $data/PG_VERSION ]]; then
  initdb --pgdata "$data" --encoding UTF8 --username "$POSTGRES_USER" --auth scram-sha-256 --pwfile <(echo "$POSTGRES_PASSWORD")
  echo "host all all all scram-sha-256" >>"$data/pg_hba.conf"
  echo "create database $POSTGRES_USER" | postgres --single -D "$data" postgres
fi
exec postgres -D "$data" -c listen_addresses='*' -c unix_socket_directories=/tmp
