// Luarun runs one Lua script for Redis or Valkey. It prints the commands that the script calls, with their lines and
// replies, and the results.
//
//	luarun [-url url] [-I folder] script.lua name=value ...
//	luarun [-url url] script.lua key ... , argument ...
//
// The first form is for scripts with luagen's annotations. Luarun checks arguments and results as the function does that
// luagen makes. A list repeats its name, an optional name may be missing; times are 500ms and 2026-01-31T12:00:00Z. The
// second form is for scripts with KEYS and ARGV.
//
// The script runs once, on an empty embedded server, or with -url on your own: there it may write. If the URL has a
// password, set HASP_URL, and write -url HASP_URL. To see calls, luarun sends other Lua around the script: the server knows
// it by another SHA-1. Calls by way of _G are not seen.
//
// The exit code is 0 if the function would return no error, 2 for wrong usage or arguments, else 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/redis/rueidis"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	"github.com/hasp-go/hasp/backend/scriptcall"
	"github.com/hasp-go/hasp/luagen/internal/check"
	"github.com/hasp-go/hasp/luagen/internal/emit"
	"github.com/hasp-go/hasp/luagen/internal/parse"
	"github.com/hasp-go/hasp/luagen/internal/serverurl"
)

func main() { os.Exit(run(os.Stdout, os.Stderr, os.Args[1:])) }

// run is the command. It returns the exit code.
func run(stdout, stderr io.Writer, args []string) int {
	switch err := start(stdout, args); {
	case err == nil:
		return 0
	case errors.Is(err, backend.ErrArgument):
		fmt.Fprintf(stderr, "luarun: %v; \"luarun -h\" shows the usage\n", err)
		return 2
	default:
		fmt.Fprintln(stderr, err)
	}
	return 1
}

// start reads the flags and the file, and runs the script.
func start(stdout io.Writer, args []string) error {
	flags := flag.NewFlagSet("luarun [flags] script.lua name=value ..., or key ... , argument ...", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	address := flags.String("url", "", "run on this server, a `URL` such as redis://user@host:port, or HASP_URL for that of\nthe variable")
	var folders []string
	flags.Func("I", "search this `folder`, too, for files of ---@include; may be repeated", func(folder string) error {
		folders = append(folders, folder)
		return nil
	})
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(stdout)
		flags.Usage()
		return nil
	case err != nil:
		return badf("%w", err)
	case flags.NArg() == 0:
		return badf("no script")
	}
	t := &tracer{file: flags.Arg(0), out: stdout}
	s, err := t.read(folders)
	if err == nil {
		err = t.connect(*address)
	}
	switch {
	case err != nil:
		return err
	case s.Raw:
		return t.raw(s, flags.Args()[1:])
	}
	return t.annotated(s, flags.Args()[1:])
}

// connect connects to a server, or makes one.
func (t *tracer) connect(address string) (err error) {
	if address == "" {
		t.level = "4"
		t.ScriptRunner, err = embedded.New(embedded.NewServer(), nil)
		return err
	}
	u, err := serverurl.Parse(address, os.Getenv(serverurl.Variable))
	if err != nil {
		return badf("%w", err)
	}
	opts, err := rueidis.ParseURL(u.String())
	if err != nil {
		return badf("the URL is malformed")
	}
	opts.DisableCache = true
	client, err := rueidis.NewClient(opts)
	if err != nil {
		return err
	}
	t.level = "3"
	t.ScriptRunner, err = rueidisbackend.New(client, nil)
	return err
}

func (t *tracer) read(folders []string) (*parse.Script, error) {
	source, err := parse.ReadFile(t.file)
	if err != nil {
		return nil, badf("%w", err)
	}
	opts := parse.Options{Folders: folders, Rules: check.Rules, Raw: true}
	s, findings := parse.Parse(t.file, source, opts)
	switch {
	case len(findings) > 0:
		return nil, errors.New(findings[0].String())
	case s.Header.Library:
		return nil, badf("%s has functions for other scripts", t.file)
	}
	return s, nil
}

// raw runs a script that has KEYS and ARGV.
func (t *tracer) raw(s *parse.Script, args []string) error {
	comma := slices.Index(append(args, ","), ",")
	if comma == 0 {
		return badf("write at least one key: the node that owns it runs the script")
	}
	script := &backend.Script{Name: s.Name, Source: string(s.Source)}
	reply, err := t.Run(context.Background(), script, args[:comma], args[min(comma+1, len(args)):])
	if err == nil {
		fmt.Fprintln(t.out, show(reply))
	}
	return err
}

// annotated runs a script with declared names.
func (t *tracer) annotated(s *parse.Script, args []string) error {
	c := scriptcall.Call{Script: &backend.Script{Name: s.Name, Source: emit.Source(s)}}
	words, keys, err := words(s, &c, args)
	if err != nil {
		return err
	}
	if err := c.Run(context.Background(), t, keys, words).Err(); err != nil {
		return err
	}
	lines, err := results(s, t.reply)
	fmt.Fprint(t.out, lines)
	return err
}
