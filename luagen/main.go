package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/hasp-go/hasp/luagen/internal/check"
)

const usage = `usage: luagen [flags] [path ...]

Turns annotated Redis scripts into typed Go functions: x.lua.go beside each x.lua.
A path is a .lua file or a folder of them; the default is the current folder.

       luagen vet [-json | -sarif] [-strict] [-I folder] [-commands file] [path ...]

Checks scripts, with and without annotations, and those in Go files, also in the folders below a folder.
It writes nothing.

       luagen import [-json] [-commands file] [path ...]

Writes annotated drafts of scripts that have no annotations, x_typed.lua beside x.lua, and checks them.

       luagen doc [-check] [-o file] [-strict] [-I folder] [-commands file] [path ...]

Writes a reference of scripts in Markdown.

       luagen commands [-url url]

Prints the command table of a server, which -commands takes.

       luarun [-url url] script.lua name=value ...

Runs a script, and prints its commands and results: go run github.com/hasp-go/hasp/luagen/luarun@latest

       luagen help [command]
       luagen version
`

func main() {
	debug.SetGCPercent(400)         // Most runs need little memory: rare collections save a quarter of their time.
	debug.SetMemoryLimit(300 << 20) // A long script is collected more often, not refused.
	os.Exit(run(os.Stdout, os.Stderr, os.Args[1:]))
}

// usageError is what the caller of the command got wrong.
type usageError struct{ error }

// usagef returns a usageError.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run is the command. It returns the exit code.
func run(stdout, stderr io.Writer, args []string) int {
	if len(args) > 0 {
		switch args[0] {
		case "help":
			return run(stdout, stderr, append(args[1:len(args):len(args)], "-h"))
		case "version":
			fmt.Fprintln(stdout, version())
			return 0
		case "commands":
			return runCommands(stdout, stderr, args[1:])
		case "import":
			return runImport(stdout, stderr, args[1:])
		case "vet":
			return runVet(stdout, stderr, args[1:])
		case "doc":
			return runDoc(stdout, stderr, args[1:])
		}
	}
	return runGenerate(stdout, stderr, args)
}

// runGenerate is luagen without a subcommand.
func runGenerate(stdout, stderr io.Writer, args []string) int {
	j := newJob("luagen")
	checkOnly := j.flags.Bool("check", false, "write nothing; print what is not current, exit 1")
	j.flags.BoolVar(&j.fuzz, "fuzz", false, "write fuzz targets, too: x_fuzz_test.go, which needs\n"+
		"github.com/hasp-go/hasp/hasptest")
	j.flags.StringVar(&j.out, "o", "", "write to this `folder`, not beside each script")
	j.flags.StringVar(&j.pkg, "p", "", "the `package` of the written files; default: that of the\n"+
		"Go files in their folder, else the folder's name")
	j.jsonFlag()
	if code, ok := j.start(stdout, stderr, args); !ok {
		return code
	}
	if info, err := os.Stat(j.out); filepath.Ext(j.out) == suffix || err == nil && !info.IsDir() {
		return j.report(stdout, stderr, j.exit(usagef("-o takes a folder, and %s is a file", j.out)))
	}
	code := j.load(j.file)
	switch {
	case code != 0:
	case *checkOnly:
		code = j.exit(j.compare(stdout))
	default:
		code = j.exit(j.write())
	}
	return j.report(stdout, stderr, code)
}

// newJob returns a job with the flags that all subcommands have.
func newJob(name string) *job {
	j := &job{
		flags:  flag.NewFlagSet(name, flag.ContinueOnError),
		tables: check.Builtin(), declared: map[string]string{}, packages: map[string]string{}, walked: map[string]bool{}, given: map[string]bool{},
		examined: map[string]bool{},
		parts:    map[string]bool{}, unseen: map[string][]string{}, goFolders: map[string][]string{},
	}
	j.flags.Func("commands", "a `file` that \"luagen commands\" printed for your server, which\n"+
		"then takes the place of the table that luagen has; may be repeated", j.addTable)
	j.flags.Func("I", "search this `folder`, too, for files of ---@include; may be repeated", func(dir string) error {
		j.shared = append(j.shared, dir)
		_, err := os.ReadDir(dir)
		return err
	})
	j.flags.BoolVar(&j.strict, "strict", false, "find also what is wrong only for users who may not call every\n"+
		"command: rule refused")
	return j
}

func (j *job) jsonFlag() {
	j.flags.BoolVar(&j.json, "json", false, "print findings as JSON, to standard output")
}

// addTable reads a user's table.
func (j *job) addTable(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	tables, err := j.tables.With(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	j.tables = tables
	return nil
}

// start reads the flags and the paths. If ok is false the command ends with code.
func (j *job) start(stdout, stderr io.Writer, args []string) (code int, ok bool) {
	code, ok = parseFlags(j.flags, stdout, stderr, args)
	if j.paths = j.flags.Args(); len(j.paths) == 0 {
		j.paths = []string{"."}
	}
	return code, ok
}

// parseFlags reads the flags. If ok is false the command ends with code.
func parseFlags(flags *flag.FlagSet, stdout, stderr io.Writer, args []string) (code int, ok bool) {
	flags.SetOutput(io.Discard)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(stdout, "%s\nFlags of %s:\n", usage, flags.Name())
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return 0, false
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v; \"luagen help\" has the flags\n", flags.Name(), err)
		return 2, false
	}
	return 0, true
}

// version returns which luagen this is, and of which Go.
func version() string {
	info, _ := debug.ReadBuildInfo()
	return "luagen " + info.Main.Version + " " + info.GoVersion
}

// exit keeps what went wrong for the report, and returns the exit code for it.
func (j *job) exit(err error) int {
	switch {
	case errors.As(err, new(usageError)):
		j.failure = err
		return 2
	case err != nil:
		j.failure = err
		return 1
	case len(j.findings) > 0 || j.differs:
		return 1
	}
	return 0
}

// write writes the Go files. What is left over it only names: the folder of -o may have files of other runs.
func (j *job) write() error {
	left, err := j.leftOver()
	if err != nil {
		return err
	}
	for _, path := range left {
		j.note([]string{path + ": " + leftOver})
	}
	for _, f := range j.made {
		if err := f.write(); err != nil {
			return err
		}
	}
	return nil
}

// write writes the file, whole or not at all, if it is not current.
func (f file) write() error {
	have, err := existing(f.path)
	if err != nil || bytes.Equal(have, f.content) {
		return err
	}
	return writeWhole(f.path, f.content)
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
