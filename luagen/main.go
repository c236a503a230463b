package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

func main() {
	debug.SetGCPercent(400)         // Most runs need little memory: rare collections save a quarter of their time.
	debug.SetMemoryLimit(350 << 20) // A long script is collected more often, not refused: it needs less than 400 MB.
	os.Exit(run(os.Stdout, os.Stderr, os.Args[1:]))
}

// usageError is what the caller of the command got wrong.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// subcommands are what luagen does, by name. Each declares its flags, and returns what runs when they are read.
var subcommands = map[string]func(j *job) func() error{
	"commands": commands, "doc": doc, "import": importDrafts, "rules": listRules, "vet": vet,
}

// run is the command. It returns the exit code.
func run(stdout, stderr io.Writer, args []string) int {
	name, prepare := "luagen", generate
	if len(args) > 0 {
		switch args[0] {
		case "help":
			return run(stdout, stderr, append(args[1:len(args):len(args)], "-h"))
		case "version", "-version", "--version":
			fmt.Fprintln(stdout, version())
			return 0
		}
		if found, ok := subcommands[args[0]]; ok {
			name, prepare, args = name+" "+args[0], found, args[1:]
		}
	}
	return newJob(stdout, name).run(stderr, prepare, args)
}

// run reads the flags and the paths, and runs what prepare returns. It returns the exit code.
func (j *job) run(stderr io.Writer, prepare func(j *job) func() error, args []string) int {
	work := prepare(j)
	j.flags.SetOutput(io.Discard)
	switch err := j.flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		_, text, _ := strings.Cut(manual, "## Commands\n\n")
		text, _, _ = strings.Cut(text, "## ")
		fmt.Fprintf(j.stdout, "%sFlags of %s:\n", text, j.flags.Name())
		j.flags.SetOutput(j.stdout)
		j.flags.PrintDefaults()
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v; \"luagen help\" has the flags\n", j.flags.Name(), err)
		return 2
	}
	if j.paths = j.flags.Args(); len(j.paths) == 0 {
		j.paths = []string{"."}
	}
	return j.report(stderr, work())
}

// generate is luagen without a subcommand.
func generate(j *job) func() error {
	j.scriptFlags()
	checkOnly := j.flags.Bool("check", false, "write nothing; print what is not current, exit 1")
	j.flags.BoolVar(&j.fuzz, "fuzz", false, "write fuzz targets, too: x_fuzz_test.go, which needs\ngithub.com/hasp-go/hasp/hasptest")
	j.flags.StringVar(&j.out, "o", "", "write to this `folder`, not beside each script")
	j.flags.StringVar(&j.pkg, "p", "", "the `package` of the written files; default: that of the\n"+
		"Go files in their folder, else the folder's name")
	j.jsonFlag()
	return func() error {
		if info, err := os.Stat(j.out); filepath.Ext(j.out) == suffix || err == nil && !info.IsDir() {
			return usagef("-o takes a folder, and %s is a file", j.out)
		}
		if err := j.load(j.file); err != nil || len(j.findings) > 0 {
			return err
		}
		if *checkOnly {
			return j.compare()
		}
		return j.write()
	}
}

func newJob(stdout io.Writer, name string) *job {
	return &job{
		stdout: stdout, flags: flag.NewFlagSet(name, flag.ContinueOnError), tables: flow.Builtin(), given: map[string]bool{},
		examined: map[string]bool{}, generator: generator{declared: map[string]string{}, packages: map[string]string{}},
		vetter: vetter{others: map[string]string{}, walked: map[string]bool{}, leftOut: map[string][]string{}, parts: map[string]bool{}},
	}
}

// scriptFlags declares the flags of all subcommands that read scripts.
func (j *job) scriptFlags() {
	j.flags.Func("commands", "a `file` that \"luagen commands\" printed for your server, which\n"+
		"then takes the place of the table that luagen has; may be repeated", j.addTable)
	j.flags.Func("I", "search this `folder`, too, for files of ---@include; may be repeated", func(dir string) error {
		j.shared = append(j.shared, dir)
		_, err := os.ReadDir(dir)
		return err
	})
	j.flags.BoolVar(&j.strict, "strict", false, "find also what is wrong only for users who may not call every\ncommand: rule refused")
}

func (j *job) jsonFlag() {
	j.flags.BoolVar(&j.json, "json", false, "print findings as JSON, to standard output")
}

func (j *job) addTable(path string) error {
	text, err := parse.ReadFile(path)
	if err != nil {
		return err
	}
	if j.tables, err = j.tables.With(string(text)); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// version returns which luagen this is, of which Go and for which platform. The version of one built in a checkout has its commit.
func version() string {
	build, _ := debug.ReadBuildInfo()
	return fmt.Sprintf("luagen %s %s %s/%s", build.Main.Version, build.GoVersion, runtime.GOOS, runtime.GOARCH)
}

// write writes the Go files. What is left over it only names: the folder of -o may have files of other runs.
func (j *job) write() error {
	err := j.leftOver(func(f file) { j.note([]string{f.path + ": " + leftOver}) })
	for i := 0; i < len(j.made) && err == nil; i++ {
		err = j.made[i].write()
	}
	return err
}

// write writes the file, if it is not current.
func (f file) write() error {
	have, err := existing(f.path)
	if err != nil || bytes.Equal(have, f.content) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(f.path, f.content, 0o644)
}
