#!/usr/bin/env bash
# A polling worker that is made right, in shell; the same design as ../polling_python/worker.py, which explains it.
# Each step is a process of its own: sqlite3 changes the ledger, curl sends, sleep waits. Any of them may be killed
# alone, and may outlive this script when that is killed alone; both are no more than what a crash is anyway.
#
# Usage: worker.sh NAME DATABASE URL --on-doubt retry|flag
#
# Values from the ledger never become SQL, shell or curl text that could mean something else: a key goes back to SQLite
# in hexadecimal, the body is made by SQLite's json_object, and only a key of plain characters is sent as a header.
set -u # and not -e: each failure is looked at where it happens

readonly lease_s=60 poll_s=10 send_timeout_s=10 retry_delay_s=15 max_attempts=5

usage() {
  printf 'usage: worker.sh NAME DATABASE URL --on-doubt retry|flag\n' >&2
  exit 2
}

log() { printf '%s: %s\n' "$name" "$*" >&2; }

die() {
  log "$*"
  exit 1
}

# --- the ledger ---------------------------------------------------------------------------------------------------

# ledger SQL: leaves what it selects in $rows, each column on a line of its own. The SQL stands among the arguments
# because sqlite3 then exits with SQLite's own code. Rows count only when that is 0: they are printed before the commit.
ledger() {
  rows=$(sqlite3 -batch -bail -init /dev/null -cmd '.timeout 5000' -cmd 'PRAGMA synchronous = FULL' \
    -separator $'\n' -nullvalue '' "$database" "$1")
}

# passes STATUS: whether a failed `ledger` may succeed next time. BUSY, LOCKED, READONLY, IOERR, FULL, CANTOPEN,
# PROTOCOL, or a signal ended sqlite3: then nobody knows whether it had committed.
passes() {
  case $1 in
    5 | 6 | 8 | 10 | 13 | 14 | 15) return 0 ;;
    *) (($1 > 128)) ;;
  esac
}

# The clock is read by SQLite inside the transaction: waiting for the lock must not eat the lease.
readonly due="due_at <= unixepoch()
  AND (state = 'pending' AND retry_at <= unixepoch() OR state = 'leased' AND lease_until <= unixepoch())"

# claim: settles what must not be sent again, takes the oldest of the others and describes it in key_sql, ours,
# lease_until, sending_before (an intent whose outcome is unknown, or nothing), key (nothing if it is no header) and
# body; key_sql is empty when nothing is due.
claim() {
  local fields status
  ledger "
    BEGIN IMMEDIATE;
    UPDATE digest_jobs
       SET state = iif(sending_at IS NULL, 'exhausted', 'needs_review'), lease_until = NULL,
           reason = iif(sending_at IS NULL, reason, 'an earlier attempt may have been accepted')
     WHERE $due AND $spent;
    UPDATE digest_jobs
       SET state = 'leased', lease_until = unixepoch() + $lease_s, attempts = attempts + 1, token = token + 1
     WHERE digest_key = (SELECT digest_key FROM digest_jobs WHERE $due AND NOT $spent
                         ORDER BY due_at, digest_key LIMIT 1)
    RETURNING hex(digest_key), token, lease_until, sending_at, iif(digest_key GLOB '*[^!-~]*', '', digest_key),
              json_object('digest_key', digest_key, 'customer_id', customer_id);
    COMMIT;"
  status=$?
  ((status == 0)) || return "$status"
  key_sql=''
  [[ -n $rows ]] || return 0
  mapfile -t fields <<<"$rows"
  key_sql="CAST(x'${fields[0]}' AS TEXT)"
  # The condition of every later write: a holder whose lease was taken over changes nothing.
  ours="digest_key = $key_sql AND token = ${fields[1]} AND state = 'leased'"
  lease_until=${fields[2]} sending_before=${fields[3]} key=${fields[4]} body=${fields[5]}
}

# record_intent: commits that a send may happen. Selects nothing when the job is no longer ours, or its lease may end
# during the send.
record_intent() {
  ledger "UPDATE digest_jobs SET sending_at = coalesce(sending_at, unixepoch())
           WHERE $ours AND lease_until >= unixepoch() + $send_timeout_s RETURNING 1"
}

# settle: writes $outcome and $reason, once. Selects nothing when the job is no longer ours.
settle() {
  local changes text="'${reason//\'/\'\'}'"
  if [[ $outcome == accepted ]]; then
    changes="state = 'delivered', delivered_at = unixepoch(), reason = NULL"
  elif [[ $outcome == doubt && $on_doubt == flag ]]; then
    changes="state = 'needs_review', reason = $text"
  else
    changes="state = 'pending', retry_at = unixepoch() + $retry_delay_s, reason = $text"
    [[ $outcome == doubt ]] || changes+=", sending_at = ${sending_before:-NULL}"
  fi
  ledger "UPDATE digest_jobs SET lease_until = NULL, $changes WHERE $ours RETURNING 1"
}

# settle_surely: again and again while the ledger is in trouble, until the lease is over and others decide.
settle_surely() {
  local status
  while true; do
    settle
    status=$?
    if ((status == 0)); then
      [[ -n $rows ]] || log "$outcome of $shown not written: the job is no longer ours"
      return 0
    fi
    passes "$status" || die "the ledger cannot be written: sqlite3 ended with $status"
    log "$outcome of $shown not written yet: sqlite3 ended with $status"
    ((EPOCHSECONDS < lease_until)) || return 0
    sleep 1
  done
}

# --- the downstream -----------------------------------------------------------------------------------------------

# send: gives $outcome and $reason. 2xx is the only yes. A 4xx says that nothing happened, but for 409: the same key is
# at work right now.
send() {
  local code status
  outcome=doubt
  if [[ -z $key ]]; then
    outcome='definite no' reason='the digest_key cannot be sent as a header'
    return
  fi
  code=$(curl --disable --silent --show-error --globoff --max-time "$send_timeout_s" --output /dev/null \
    --write-out '%{http_code}' --header 'Content-Type: application/json' --header "Idempotency-Key: $key" \
    --data-raw "$body" --url "$url")
  status=$?
  case $status in
    0) reason="status $code" ;;
    # Nothing was sent: it could not be started, the URL is none, no such host, no connection.
    126 | 127 | 3 | 5 | 6 | 7) outcome='definite no' reason="no connection: curl ended with $status" ;;
    # All else, a time-out, a cut answer and a killed curl among it, leaves open what the downstream did.
    *) reason="no answer: curl ended with $status" ;;
  esac
  ((status == 0)) || return
  case $code in
    2??) outcome=accepted ;;
    409) ;;
    4??) outcome='definite no' ;;
  esac
}

# --- the work -----------------------------------------------------------------------------------------------------

# in_trouble STATUS: tells of a ledger that fails, or ends the worker when no waiting helps.
in_trouble() {
  passes "$1" || die "the ledger cannot be used: sqlite3 ended with $1"
  log "the ledger is in trouble, trying again later: sqlite3 ended with $1"
}

# work_once: does one job. Fails when there is nothing to do now.
work_once() {
  local outcome reason shown
  claim || { in_trouble $? && return 1; }
  [[ -n $key_sql ]] || return 1
  shown=${key:-$key_sql}
  record_intent || { in_trouble $? && return 1; }
  if [[ -z $rows ]]; then
    log "$shown is not sent: the lease has run out"
    return 0
  fi
  send
  [[ $outcome == accepted ]] || log "$outcome about $shown: $reason"
  settle_surely
}

[[ $# == 5 && $4 == --on-doubt && ($5 == retry || $5 == flag) ]] || usage
readonly name=$1 url=$3 on_doubt=$5
database=$2
[[ -f $database ]] || { log "there is no ledger '$database'" && usage; }
[[ $database == /* ]] || database=./$database # no path is an option
for program in sqlite3 curl sleep; do
  command -v "$program" >/dev/null || die "$program is not installed"
done
# Rows that must not be sent again.
readonly spent="(attempts >= $max_attempts OR sending_at IS NOT NULL AND '$on_doubt' = 'flag')"

while true; do
  work_once || sleep "$poll_s"
done
