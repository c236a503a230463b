// Package command has the commands of the program hasp: their flags, their output and their exit codes.
package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/cmd/hasp/internal/connect"
	"github.com/hasp-go/hasp/primitives"
)

// program is what all commands share.
type program struct {
	flags   connect.Flags
	prefix  string
	verbose bool
	opened  bool // the connection was to be: until then each error is of the command line
}

// Main runs the program with its arguments, and returns its exit code. It prints an error as one line.
func Main(args []string) int {
	p := &program{}
	root := p.root()
	root.SetArgs(args)
	err := root.Execute()
	if !p.opened && codeOf(err) == exitInternal {
		err = &exitError{exitUsage, err} // cobra's
	}
	if text := oneLine(err); text != "" {
		fmt.Fprintln(os.Stderr, "hasp: "+text)
	}
	return codeOf(err)
}

// Root returns the program's commands, for pages about them.
func Root() *cobra.Command { return (&program{}).root() }

func oneLine(err error) string {
	if err == nil {
		return ""
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

func (p *program) root() *cobra.Command {
	root := group("hasp", "Locks, semaphores and rates of a Redis server, for the shell")
	root.SilenceUsage, root.SilenceErrors, root.Version = true, true, version()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%w: see %s --help", err, c.CommandPath())
	})
	f := root.PersistentFlags()
	f.StringVar(&p.flags.URL, "url", "", "the server: redis://, rediss:// or unix://, without a password (default $"+
		connect.URLVariable+", or redis://127.0.0.1:6379)")
	f.StringVar(&p.flags.User, "user", "", "the user's name on the server")
	f.StringVar(&p.flags.PasswordFile, "password-file", "", "a file with the user's password")
	f.StringVar(&p.flags.CACert, "cacert", "", "a file with the certificates that sign the server's")
	f.StringVar(&p.flags.Cert, "cert", "", "a file with the client's certificate")
	f.StringVar(&p.flags.Key, "key", "", "a file with the client's private key")
	f.StringVar(&p.prefix, "prefix", "", "what begins the key of each name")
	f.BoolVarP(&p.verbose, "verbose", "v", false, "say what happens")
	root.AddCommand(
		p.lock("lock", "", "lock", "mutex", "fair", "plain"), p.lock("read", " with other readers", "read"),
		p.lock("write", " without readers", "write"), p.slot(), p.once(),
		p.elect(), p.check(), p.rate(), p.latch(), p.forceUnlock(), p.inspect(), p.list(), p.watch(), p.serve(), &cobra.Command{
			Use: "version", Short: "Print the version, its Go and its platform", Args: cobra.NoArgs,
			Run: func(*cobra.Command, []string) { fmt.Println(root.Version) },
		},
	)
	return root
}

// version returns which hasp this is, of which Go, for which platform and, if it is built in a checkout, of which commit.
func version() string {
	build, _ := debug.ReadBuildInfo()
	text := fmt.Sprintf("hasp %s %s %s/%s", build.Main.Version, build.GoVersion, runtime.GOOS, runtime.GOARCH)
	for _, s := range build.Settings {
		if s.Key == "vcs.revision" {
			text += " commit " + s.Value
		}
	}
	return text
}

// online returns what runs a command that needs no more than a connection.
func (p *program) online(run func(c *cobra.Command, conn *connect.Conn, args []string) error) func(*cobra.Command, []string) error {
	return (&runner{program: p}).online(run)
}

// value is the value of a flag. set takes its text, or refuses it.
type value struct {
	text, kind string
	set        func(text string) error
}

func (v *value) String() string { return v.text }

func (v *value) Type() string { return v.kind }

func (v *value) Set(text string) error {
	v.text = text
	return v.set(text)
}

// choose adds a flag that takes one of several words, by default the first.
func choose(c *cobra.Command, flag, purpose string, words ...string) *string {
	chosen := words[0]
	c.Flags().Var(&value{chosen, "string", func(word string) error {
		if !slices.Contains(words, word) {
			return fmt.Errorf("none of %s", strings.Join(words, ", "))
		}
		chosen = word
		return nil
	}}, flag, purpose)
	offer(c, flag, words...)
	return &chosen
}

// spanVar adds a flag that takes a duration. Help shows its default, if that is not empty.
func spanVar(c *cobra.Command, length *time.Duration, flag, byDefault, purpose string) {
	c.Flags().Var(&value{byDefault, "duration", span(length)}, flag, purpose)
}

// span returns what sets a duration. A bare number is seconds, as sleep, timeout and flock have it.
func span(length *time.Duration) func(text string) error {
	return func(text string) (err error) {
		if strings.Trim(text, "-.0123456789") == "" {
			text += "s"
		}
		if *length, err = time.ParseDuration(text); *length < 0 {
			err = errors.New("it is negative")
		}
		return err
	}
}

// offer has the shell complete a flag of c with its values.
func offer(c *cobra.Command, flag string, values ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// group returns a command that only has others below it.
func group(use, short string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("%q is no command: see %s --help", args[0], c.CommandPath())
			}
			return nil
		},
	}
}

func (p *program) open(o primitives.Options) (*connect.Conn, error) {
	o.KeyPrefix, o.IDPrefix, p.opened = p.prefix, idPrefix(os.Getpid()), true
	if p.verbose {
		o.Slog = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return p.flags.Open(&o)
}

// idPrefix returns the name of this machine and a process id, as the beginning of a client's id.
func idPrefix(pid int) string {
	name, _ := os.Hostname()
	process := fmt.Sprint("-", pid)
	name = strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-", r)) {
			return r
		}
		return '-'
	}, name)
	return name[:min(len(name), 64-len(process))] + process
}

// names returns what checks that the arguments are names, so many at least and at most.
func names(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usage("no name: write %s NAME", c.CommandPath())
		case len(args) > most:
			return usage("%q behind the name", args[most])
		}
		return validNames(args...)
	}
}

func validNames(names ...string) error {
	for _, name := range names {
		switch {
		case name == "":
			return usage("the name is empty")
		case strings.ContainsFunc(name, unicode.IsControl):
			return usage("the name %q has a line break or another control character", name)
		}
	}
	return nil
}

// Exit codes. Others are 0, those of commands that hasp runs, and 128 and the number of a signal. Most are of sysexits.h.
const (
	exitFailed      = 1   // a check found a fault, or an observer was asked for what there is not
	exitUsage       = 64  // a wrong flag or argument: nothing was acquired
	exitUnavailable = 69  // no server
	exitInternal    = 70  // another error
	exitNotAcquired = 75  // not free in time
	exitNoRight     = 77  // the server refuses the user
	exitLost        = 79  // the lease was lost while the command ran
	exitNoCommand   = 127 // there is no such program: as shells have it
)

// exitError is an error with the program's exit code. Without an error nothing is printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage returns the error of a wrong flag or argument.
func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

func codeOf(err error) int {
	var exit *exitError
	var wrong *connect.UsageError
	var field *primitives.FieldError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.code
	case errors.As(err, &wrong), errors.As(err, &field), errors.Is(err, primitives.ErrAboveRate):
		return exitUsage
	case errors.Is(err, primitives.ErrNoPermission):
		return exitNoRight
	case errors.Is(err, primitives.ErrNoLatch):
		return exitFailed
	case errors.Is(err, primitives.ErrNotAcquired):
		return exitNotAcquired
	case errors.Is(err, primitives.ErrUnavailable), errors.Is(err, primitives.ErrIndeterminate),
		errors.Is(err, context.DeadlineExceeded):
		return exitUnavailable
	}
	return exitInternal
}
