//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

// TestMain is a holder, where this program was started as one.
func TestMain(m *testing.M) {
	if os.Getenv("HASP_POLYGLOT_HOLDER") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// all are the libraries, in the order of the page.
var all = []string{
	"hasp on go-redis", "hasp on rueidis", "hasp on valkey-go", "redis-py", "node-redlock", "redis-semaphore", "Laravel", "redsync", "redislock",
}

// starving is for how long a library may have no turn, with faults and equal delays.
const starving = 10 * time.Second

// TestPolyglot has all libraries share one lock, for HASP_POLYGLOT: with delays of 5 ms, and with the default delays of
// each. It writes the table that docs/other-languages.md has.
func TestPolyglot(t *testing.T) {
	lasts := lasting(t)
	libraries := slices.DeleteFunc(slices.Clone(all), func(library string) bool {
		_, _, missing := program(t, library)
		if missing != nil {
			t.Logf("%s is left out: %v", library, missing)
		}
		return missing != nil
	})
	equal := share(t, libraries, lasts, 5*time.Millisecond)
	for library, own := range equal {
		require.Less(t, own.starving, starving, library)
	}
	rows := table(t, libraries, equal, share(t, libraries, lasts, 0))
	t.Log("\n" + rows)
	if len(libraries) == len(all) {
		rewrite(t, "shares", rows)
	}
}

// TestBesidePython has hasp and redis-py share one lock, for HASP_POLYGLOT.
func TestBesidePython(t *testing.T) {
	lasts := lasting(t)
	if _, _, missing := program(t, "redis-py"); missing != nil {
		t.Skipf("redis-py is missing: %v", missing)
	}
	for library, own := range share(t, []string{"hasp on go-redis", "redis-py"}, lasts, 5*time.Millisecond) {
		t.Logf("%s: %d turns, at most %v without one; stopped %d, learned %d", library, own.turns, own.starving, own.stopped, own.learned)
		require.Less(t, own.starving, starving, library)
	}
}

// lasting returns how long each run lasts.
func lasting(t *testing.T) time.Duration {
	t.Helper()
	if os.Getenv("HASP_POLYGLOT") == "" {
		t.Skip("HASP_POLYGLOT is not set, such as 2m: it takes what pip and npm install")
	}
	lasts, err := time.ParseDuration(os.Getenv("HASP_POLYGLOT"))
	require.NoError(t, err)
	return lasts
}

// share has a process of each library hold one lock in turns. Meanwhile, if there is the time, it kills each while it is
// inside, and stops each beyond its expiry. Nobody is ever inside with another.
func share(t *testing.T, libraries []string, lasts, delay time.Duration) map[string]*tally {
	t.Helper()
	servers.Need(t, servers.Redis)
	server := servers.Start(t, servers.Redis, nil)
	c := &contest{t: t, referee: newReferee(t, libraries), server: server.Addr(), delay: delay, running: map[int]*process{}}
	for _, library := range libraries {
		c.start(library)
		if library == "Laravel" { // PHP has one loop in each process.
			c.start(library)
		}
	}
	faults := max(0, min(2*len(libraries), int(lasts/(4*time.Second))-1)) // Nobody has a turn until an expiry has passed.
	begin, every := time.Now(), lasts/time.Duration(faults+1)
	for i := range faults {
		time.Sleep(time.Until(begin.Add(time.Duration(i+1) * every)))
		c.strike(libraries[i/2], i%2 == 0)
	}
	time.Sleep(time.Until(begin.Add(lasts)))
	c.referee.end()
	for _, p := range c.running {
		c.await(p)
	}
	return c.referee.results(t)
}

// contest is a run.
type contest struct {
	t       *testing.T
	referee *referee
	server  string
	delay   time.Duration
	running map[int]*process
}

// process is one of a library.
type process struct {
	*exec.Cmd
	library string
	output  bytes.Buffer
}

func (c *contest) start(library string) {
	c.t.Helper()
	words, env, missing := program(c.t, library)
	require.NoError(c.t, missing)
	words = append(words, library, c.server, c.referee.path, fmt.Sprint(c.delay.Milliseconds()))
	p := &process{Cmd: exec.Command(words[0], words[1:]...), library: library}
	p.Env = append(os.Environ(), env...)
	p.Stdout, p.Stderr = &p.output, &p.output
	require.NoError(c.t, p.Start())
	c.running[p.Process.Pid] = p
	c.t.Cleanup(func() { _ = p.Process.Kill() })
}

// strike kills the process of a library while it is inside, and starts another, or stops it beyond its expiry.
func (c *contest) strike(library string, kill bool) {
	c.t.Helper()
	signal := syscall.SIGSTOP
	if kill {
		signal = syscall.SIGKILL
	}
	p := c.running[c.referee.strike(library, signal)]
	switch {
	case p == nil:
		c.t.Logf("%s had no turn for %v", library, starving)
		return
	case !kill:
		time.Sleep(expiry * 3 / 2)
		require.NoError(c.t, p.Process.Signal(syscall.SIGCONT))
		return
	}
	_ = p.Wait()
	delete(c.running, p.Process.Pid)
	c.start(library)
}

// await waits until a process has ended by itself.
func (c *contest) await(p *process) {
	c.t.Helper()
	late := time.AfterFunc(30*time.Second, func() { _ = p.Process.Kill() })
	defer late.Stop()
	require.NoError(c.t, p.Wait(), "%s:\n%s", p.library, &p.output)
}

// table has a row for each library, of equal delays and of default delays.
func table(t *testing.T, libraries []string, equal, byDefault map[string]*tally) string {
	t.Helper()
	rows := "|library|% of turns|longest wait, s|% by default|longest, s|losses reported|\n|---|---|---|---|---|---|\n"
	for _, library := range libraries {
		learns := fmt.Sprintf("%d/%d", equal[library].learned+byDefault[library].learned, equal[library].stopped+byDefault[library].stopped)
		rows += fmt.Sprintf("|%s|%s|%s|%s|\n", versioned(t, library), shareOf(equal, library), shareOf(byDefault, library), learns)
	}
	return rows
}

// shareOf returns two cells: a library's share of all turns, and its longest wait.
func shareOf(tallies map[string]*tally, library string) string {
	sum := 0
	for _, own := range tallies {
		sum += own.turns
	}
	own := tallies[library]
	return fmt.Sprintf("%.1f|%.1f", 100*float64(own.turns)/float64(sum), own.longestWait.Seconds())
}

// rewrite keeps a table, and brings it to the page.
func rewrite(t *testing.T, name, rows string) {
	t.Helper()
	kept, page := "testdata/"+name+".md", "../../docs/other-languages.md"
	old, err := os.ReadFile(kept)
	require.NoError(t, err)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	changed := strings.Replace(string(text), string(old), rows, 1)
	require.Contains(t, changed, rows)
	require.NoError(t, os.WriteFile(page, []byte(changed), 0o600))
	require.NoError(t, os.WriteFile(kept, []byte(rows), 0o600))
}
