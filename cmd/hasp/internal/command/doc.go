// Package command has the commands of the program hasp: their flags, their output and their exit codes.
package command
