# Announces a boundary of one's own to Halfsent, from any POSIX shell. Copy this file, or its function; no process is
# started.
#
#     . ./halfsent.sh
#
#     halfsent_at rendered "$digest_key"
#     halfsent_at rendered                 # of the job that this worker holds
#
# Elsewhere it is one failed look-up, and succeeds as a command.
# shellcheck shell=sh
halfsent_at() {
  halfsent_name=$1
  while [ "$halfsent_name" != "${halfsent_name%%/*}" ]; do
    halfsent_name=${halfsent_name%%/*}_${halfsent_name#*/}
  done
  [ ! -e "/halfsent/at/$halfsent_name/${2-}" ]
}
