//go:build unix

package child

import (
	"fmt"
	"os"
	"syscall"
)

// The descriptors of a stub after the standard ones. The command has the first, too.
const (
	seenFD  = 3
	readyFD = 4
)

// notExecuted is a stub's exit code if the system does not execute the command, as shells have it.
const notExecuted = 126

// Stub waits for a byte, and then becomes the command of the arguments after its name: a path, and the command's own
// arguments. It returns an exit code if there is no byte, since the guard has ended, or if the command cannot be executed.
func Stub(args []string) int {
	syscall.CloseOnExec(readyFD)
	ready := os.NewFile(readyFD, "ready")
	if n, _ := ready.Read(make([]byte, 1)); n == 0 {
		return notExecuted
	}
	err := syscall.Exec(args[0], args[1:], os.Environ())
	fmt.Fprintf(os.Stderr, "hasp: %s: %v\n", args[0], err)
	return notExecuted
}
