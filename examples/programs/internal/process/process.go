// Package process runs the program of a test's package in processes of its own, against a server.
package process

import (
	"context"
	"os"
	"os/exec"
	"strings"
)

// marker is set in the environment of a process that is to be the program.
const marker = "HASP_PROGRAM=1"

// Main is for TestMain: it runs the program in a process that [Command] started, and the tests in others.
// It returns the code to exit with.
func Main(program func(), tests func() int) int {
	if name, value, _ := strings.Cut(marker, "="); os.Getenv(name) != value {
		return tests()
	}
	program()
	return 0
}

// Command returns the command that runs the program, with the address of its server and further variables
// of the form name=value in its environment. It is killed when ctx ends.
func Command(ctx context.Context, addr string, env ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(append(os.Environ(), marker, "REDIS_ADDR="+addr), env...)
	cmd.Stderr = os.Stderr
	return cmd, nil
}
