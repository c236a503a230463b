//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers"
)

// TestCommands runs the scripts of testdata, each on a server of its own: the story of a command, or of what all have in
// common. Beside the commands of testscript they have those of story.
func TestCommands(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata", Cmds: commands(), Setup: func(e *testscript.Env) error {
		t := e.T().(testing.TB) //nolint:forcetypeassert // testscript.Run says so.
		s := &story{TB: t, server: startServer(t), all: map[string]*hasp{}}
		e.Values["story"] = s
		e.Defer(func() { // It tells what the processes have written, if the script has failed.
			for name, h := range s.all {
				if s.Failed() {
					s.Logf("%s: %s%s", name, h.output, h.errors)
				}
			}
		})
		ours := slices.DeleteFunc(os.Environ(), func(v string) bool { return !strings.HasPrefix(v, "HASP_") })
		e.Vars = slices.Concat(ours, e.Vars, []string{onServer(s.server.Addr()), "ADDR=" + s.server.Addr(), "NL=\n"})
		return nil
	}})
}

// story is what a script has: its server, and the processes that it has started, by their names.
type story struct {
	testing.TB
	server *servers.Server
	all    map[string]*hasp
}

// commands are those of the scripts. NAMES are names of processes, with commas between them.
func commands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	all := map[string]func(ts *testscript.TestScript, neg bool, args []string){}
	for name, command := range map[string]func(s *story, ts *testscript.TestScript, args []string){
		"ends":    (*story).ends,    // CODE TEXT PROGRAM...: it ends with the code, and prints the text if that is 0, or else says it.
		"start":   (*story).start,   // NAME PROGRAM...
		"code":    (*story).code,    // NAMES CODE: they end with it; what they have written is stdout and stderr.
		"signal":  (*story).signal,  // NAMES SIGNAL; the name x.guard is the guard of x, and x.child its child.
		"says":    (*story).says,    // NAMES ERROR: each says it.
		"prints":  (*story).prints,  // NAME OUTPUT: it prints it; what is in parentheses is the variable NAME.
		"quiet":   (*story).quiet,   // NAMES OUTPUT: none of them has printed it.
		"shell":   (*story).shell,   // NAME: an interactive shell with job control on a terminal of its own.
		"keys":    (*story).keys,    // NAME KEYS OUTPUT: it prints that for the keys, as it has not done before.
		"redis":   (*story).redis,   // WORDS...: it asks the server.
		"await":   (*story).await,   // REPLY WORDS...: the server replies so.
		"server":  (*story).reset,   // kill, or restart: without its data.
		"appears": (*story).appears, // FILE
	} {
		all[name] = func(ts *testscript.TestScript, _ bool, args []string) {
			command(ts.Value("story").(*story), ts, args) //nolint:forcetypeassert // TestCommands has set it.
		}
	}
	return all
}

func (s *story) ends(ts *testscript.TestScript, args []string) {
	s.start(ts, append([]string{"one"}, args[2:]...))
	h := s.all["one"]
	if args[0] == "64" {
		eventually(s, func() bool { return h.hasEnded() || h.output.String() != "" })
		require.Empty(s, h.output.String())
	}
	s.code(ts, []string{"one", args[0]})
	text := h.errors.String()
	if args[0] == "0" {
		text = h.output.String()
	}
	require.Regexp(s, "(?m)"+args[1], text)
	if code := h.ProcessState.ExitCode(); code >= 64 && code <= 128 {
		require.Regexp(s, `^hasp: [^\n]+\n$`, h.errors.String())
	}
}

func (s *story) start(ts *testscript.TestScript, args []string) {
	s.all[args[0]] = begin(s, s.program(ts, args[1:]...))
}

// program returns a process in the script's folder. It has of the script's variables only these.
func (s *story) program(ts *testscript.TestScript, args ...string) *exec.Cmd {
	c := exec.CommandContext(s.Context(), args[0], args[1:]...)
	c.Dir, c.Env = ts.MkAbs("."), append(os.Environ(), "HASP_URL="+ts.Getenv("HASP_URL"), "WORK="+ts.Getenv("WORK"))
	return c
}

func (s *story) code(ts *testscript.TestScript, args []string) {
	for _, h := range s.named(args[0]) {
		code := strconv.Itoa(h.code(s))
		fmt.Fprint(ts.Stdout(), h.output)
		fmt.Fprint(ts.Stderr(), h.errors)
		require.Equal(s, args[1], code, "%s: %s", h.Args, h.errors)
	}
}

func (s *story) named(names string) (all []*hasp) {
	for name := range strings.SplitSeq(names, ",") {
		require.Contains(s, s.all, name)
		all = append(all, s.all[name])
	}
	return all
}

var signals = map[string]syscall.Signal{
	"none": 0, "HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL, "TERM": syscall.SIGTERM, "USR1": syscall.SIGUSR1,
	"USR2": syscall.SIGUSR2, "WINCH": syscall.SIGWINCH,
}

func (s *story) signal(_ *testscript.TestScript, args []string) {
	require.Contains(s, signals, args[1])
	names, other, _ := strings.Cut(args[0], ".")
	for _, h := range s.named(names) {
		switch pid := h.Process.Pid; other {
		case "guard":
			require.NoError(s, syscall.Kill(guardOf(s, h), signals[args[1]]))
		case "child":
			require.Len(s, childrenOf(s, pid), 1)
			require.NoError(s, syscall.Kill(childrenOf(s, pid)[0], signals[args[1]]))
		default:
			h.signal(s, signals[args[1]])
		}
	}
}

func (s *story) says(_ *testscript.TestScript, args []string) {
	said := regexp.MustCompile(args[1])
	for _, h := range s.named(args[0]) {
		eventually(s, func() bool { return said.MatchString(h.errors.String()) })
	}
}

func (s *story) prints(ts *testscript.TestScript, args []string) {
	printed, found := regexp.MustCompile("(?m)"+args[1]), []string(nil)
	eventually(s, func() bool {
		found = printed.FindStringSubmatch(s.named(args[0])[0].output.String())
		return found != nil
	})
	if len(found) > 1 {
		ts.Setenv(args[0], found[1])
	}
}

func (s *story) quiet(_ *testscript.TestScript, args []string) {
	for _, h := range s.named(args[0]) {
		require.NotRegexp(s, args[1], h.output.String())
	}
}

func (s *story) shell(ts *testscript.TestScript, args []string) {
	c := s.program(ts, "bash", "--norc", "--noprofile", "-i")
	c.Env = append(c.Env, "PS1=$ ", "TERM=dumb")
	terminal := must(pty.Start(c))(s)
	h := &hasp{c, &output{}, &output{}, make(chan struct{}), terminal}
	go func() { _, _ = io.Copy(h.output, terminal) }()
	s.Cleanup(func() {
		for _, job := range childrenOf(s, c.Process.Pid) {
			_ = syscall.Kill(-job, syscall.SIGKILL) // Without this a stopped job would stay.
		}
		_ = c.Process.Kill()
		_ = c.Wait()
		_ = terminal.Close()
	})
	s.all[args[0]] = h
}

func (s *story) keys(_ *testscript.TestScript, args []string) {
	h, plain := s.named(args[0])[0], strings.NewReplacer(`\n`, "\n", `\r`, "\r", "^C", "\x03", "^Z", "\x1a")
	before := len(h.output.String())
	_ = must(io.WriteString(h.keys, plain.Replace(args[1])))(s)
	eventually(s, func() bool { return strings.Contains(h.output.String()[before:], plain.Replace(args[2])) })
}

func (s *story) redis(ts *testscript.TestScript, args []string) {
	fmt.Fprintln(ts.Stdout(), textOf(must(s.server.Do(args...))(s)))
}

// textOf returns a reply's text; of a list that of each item in a line.
func textOf(r backend.Reply) string {
	text, _ := r.Text()
	items, _ := r.Items()
	for _, item := range items {
		text += textOf(item) + "\n"
	}
	return text
}

func (s *story) await(_ *testscript.TestScript, args []string) {
	wanted := regexp.MustCompile(args[0])
	eventually(s, func() bool { return wanted.MatchString(textOf(must(s.server.Do(args[1:]...))(s))) })
}

func (s *story) reset(_ *testscript.TestScript, args []string) {
	if s.server.Kill(); args[0] == "restart" {
		require.NoError(s, s.server.Restart(servers.DropData))
	}
}

func (s *story) appears(ts *testscript.TestScript, args []string) {
	eventually(s, func() bool {
		_, err := os.Stat(ts.MkAbs(args[0]))
		return err == nil
	})
}
