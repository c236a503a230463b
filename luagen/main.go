package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hasp-go/hasp/luagen/internal/check"
)

const usage = `usage: luagen [-check] [-o dir] [-p package] [path ...]

Turns annotated Redis scripts into typed Go functions: x.lua.go beside each x.lua.
A path is a .lua file or a folder of them; the default is the current folder.

       luagen commands -addr host:port

Prints the command table of a server, as internal/check/commands holds them.

`

func main() { os.Exit(run(os.Stdout, os.Stderr, os.Args[1:])) }

// usageError is what the caller of the command got wrong.
type usageError struct{ error }

// usagef returns a usageError.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run is the command. It returns the exit code.
func run(stdout, stderr io.Writer, args []string) int {
	if len(args) > 0 && args[0] == "commands" {
		return runCommands(stdout, stderr, args[1:])
	}
	flags := flag.NewFlagSet("luagen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	checkOnly := flags.Bool("check", false, "write nothing; print what is not current, exit 1")
	out := flags.String("o", "", "write to this `folder`, not beside each script")
	pkg := flags.String("p", "", "the `package` of the written files; default: that of the Go\n"+
		"files in their folder, else the folder's name")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	paths := flags.Args()
	if len(paths) == 0 {
		paths = []string{"."}
	}
	j := &job{out: *out, pkg: *pkg, tables: check.Builtin()}
	if err := j.load(paths); err != nil {
		fmt.Fprintf(stderr, "luagen: %v\n", err)
		if errors.As(err, new(usageError)) {
			return 2
		}
		return 1
	}
	return j.finish(stdout, stderr, *checkOnly)
}

// finish prints the findings; if there are none it writes the files, or compares them.
func (j *job) finish(stdout, stderr io.Writer, checkOnly bool) int {
	for _, f := range j.findings {
		fmt.Fprintln(stderr, f)
	}
	if len(j.findings) > 0 {
		return 1
	}
	finish := j.write
	if checkOnly {
		finish = func() (bool, error) { return j.compare(stdout) }
	}
	ok, err := finish()
	if err != nil {
		fmt.Fprintf(stderr, "luagen: %v\n", err)
	}
	if err != nil || !ok {
		return 1
	}
	return 0
}

// write writes the files that are not current, each whole or not at all.
func (j *job) write() (ok bool, err error) {
	for _, f := range j.files {
		if f.current() {
			continue
		}
		if err := writeWhole(f.path, f.content); err != nil {
			return false, err
		}
	}
	return true, nil
}

// writeWhole replaces a file so that no reader sees half of it.
func writeWhole(path string, content []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".luagen-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	_, err = temp.Write(content)
	if err = errors.Join(err, temp.Chmod(0o644), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
