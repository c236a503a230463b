package command

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
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
	begun   bool // a command has: until then each error is of the command line
}

// Main runs the program with its arguments, and returns its exit code. It prints an error as one line.
func Main(args []string) int {
	p := &program{}
	root := p.root()
	root.SetArgs(args)
	err := root.Execute()
	if err != nil && !p.begun {
		err = &exitError{exitUsage, err}
	}
	if text := oneLine(err); text != "" {
		fmt.Fprintln(os.Stderr, "hasp: "+text)
	}
	return codeOf(err)
}

// Root returns the program's commands, for pages about them.
func Root() *cobra.Command { return (&program{}).root() }

// oneLine returns an error as one line.
func oneLine(err error) string {
	if err == nil {
		return ""
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// root returns the program's commands.
func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "hasp",
		Short:         "Locks, semaphores and rates of a Redis server, for the shell",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          subcommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
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
	for _, c := range []*cobra.Command{
		p.lock(), p.readWrite("read", "with other readers"), p.readWrite("write", "without readers"), p.slot(), p.once(),
		p.elect(), p.check(), p.rate(), p.latch(), p.forceUnlock(), p.inspect(), p.list(), p.watch(), p.serve(),
	} {
		run := c.RunE
		c.RunE = func(c *cobra.Command, args []string) error {
			p.begun = true
			return run(c, args)
		}
		root.AddCommand(c)
	}
	return root
}

// online returns what runs a command that needs no more than a connection.
func (p *program) online(run func(c *cobra.Command, conn *connect.Conn, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		conn, err := p.open(primitives.Options{})
		if err != nil {
			return err
		}
		defer leave(conn)
		return run(c, conn, args)
	}
}

// choice is the value of a flag that takes one of several words.
type choice struct {
	word string
	all  []string
}

// String implements pflag.Value.
func (v *choice) String() string { return v.word }

// Type implements pflag.Value.
func (v *choice) Type() string { return "string" }

// Set implements pflag.Value.
func (v *choice) Set(word string) error {
	if !slices.Contains(v.all, word) {
		return fmt.Errorf("none of %s", strings.Join(v.all, ", "))
	}
	v.word = word
	return nil
}

// choose adds a flag that takes one of several words, by default the first.
func choose(c *cobra.Command, flag, purpose string, words ...string) *string {
	v := &choice{words[0], words}
	c.Flags().Var(v, flag, purpose)
	offer(c, flag, words...)
	return &v.word
}

// offer has the shell complete a flag of c with its values.
func offer(c *cobra.Command, flag string, values ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// subcommand returns the error of arguments that name no command.
func subcommand(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%q is no command: see hasp --help", args[0])
	}
	return nil
}

// open connects with the options.
func (p *program) open(o primitives.Options) (*connect.Conn, error) {
	o.KeyPrefix, o.IDPrefix = p.prefix, idPrefix(os.Getpid())
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

// validNames returns the error of names that no command takes.
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
