// Package connect opens the connection that the flags of a command name. No password is in a flag, and none in an error.
package connect
