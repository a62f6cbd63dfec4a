#!/bin/sh
# Creates the databases of the Temporal server and brings their schemas up to date. Safe to repeat.
# The password of the user comes in SQL_PASSWORD.
set -eu

schemas=/etc/temporal/schema/postgresql/v12

sql_tool() {
  temporal-sql-tool --plugin postgres12 --ep postgres -p 5432 -u postgres "$@"
}

prepare() {
  sql_tool --db "$1" create
  sql_tool --db "$1" setup-schema -v 0.0
  sql_tool --db "$1" update-schema -d "$schemas/$2/versioned"
}

prepare temporal temporal
prepare temporal_visibility visibility
