/* cli.h - the subcommands. Each returns the program's exit code (server/exit.h): 0 success, 1
 * failure, 2 wrong settings or arguments, 70 an fsync failed. */
#pragma once

#include "base/version.h"
#include "server/exit.h"

int cli_migrate(int argc, char **argv);
int cli_audit(int argc, char **argv);
int cli_dlq(int argc, char **argv);
int cli_payments(int argc, char **argv);
int cli_keys(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_backup(int argc, char **argv);
int cli_operators(int argc, char **argv);
int cli_reconcile(int argc, char **argv);
int cli_replay(int argc, char **argv);
int cli_transfers(int argc, char **argv);
int cli_trigger(int argc, char **argv);
int cli_completion(int argc, char **argv);
int cli_help(int argc, char **argv);
int cli_version(int argc, char **argv);
