// Package commands has what servers know of their commands, as "luagen commands" printed it.
package commands

import "embed"

// Files are the tables. The test of the embedded server's commands in backend/embedded wrote its table.
//
//go:embed *.txt
var Files embed.FS
