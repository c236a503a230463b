//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/cmd/hasp/internal/command"
	"github.com/hasp-go/hasp/conformance/servers"
)

// runners are all kinds of command lines that run a command under a lease, here for one holder at a time.
var runners = map[string]string{
	"lock":  "lock x --wait=1h",
	"mutex": "lock x --kind mutex --wait=1h",
	"fair":  "lock x --kind fair --wait=1h",
	"write": "write x --wait=1h",
	"read":  "read x --wait=1h",
	"slot":  "slot x -n 1 --wait=1h",
	"once":  "once x --every 100000h --wait=1h",
	"elect": "elect x",
}

// under starts a command line with a script as its command, which ends with the test.
func under(t *testing.T, server *servers.Server, line, script string) *hasp {
	t.Helper()
	return start(t, []string{onServer(server.Addr())}, append(words(line), "-v", "--lease", "1h", "--grace", "1s", "-c", script)...)
}

// begun starts a command line, and returns when its command runs. The command ends when the file that is returned is gone.
func begun(t *testing.T, server *servers.Server, line string) (h *hasp, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "running")
	h = under(t, server, line, "echo > "+file+"; while [ -e "+file+" ]; do sleep 0.01; done")
	eventually(t, func() bool {
		_, err := os.Stat(file)
		return err == nil
	})
	return h, file
}

// ending are the signals that end a command, or the wait for it.
var ending = []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}

// TestEndsOfRunners: each signal ends whatever waits, which has run nothing, and the command, whose code it is. Nothing
// tells of a loss before the command has ended by itself.
func TestEndsOfRunners(t *testing.T) {
	t.Parallel()
	for kind, line := range runners {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := startServer(t)
			_, _ = begun(t, server, strings.Replace(line, "read x", "write x", 1)) // Readers do not wait for one another.
			var waiting []*hasp
			for range ending {
				waiting = append(waiting, under(t, server, line, "echo ran"))
			}
			for i, h := range waiting {
				eventually(t, func() bool { return strings.Contains(h.errors.String(), "hasp: waiting for ") })
				h.signal(t, ending[i])
				require.Equal(t, 128+int(ending[i]), h.code(t), "%s", h.errors)
				require.Empty(t, h.output.String())
			}
			for _, signal := range ending {
				do(t, server, "FLUSHALL")
				h, _ := begun(t, server, line)
				h.signal(t, signal)
				require.Equal(t, 128+int(signal), h.code(t), "%s", h.errors)
			}
			h, file := begun(t, server, line)
			do(t, server, "FLUSHALL")
			require.NoError(t, os.Remove(file))
			require.Equal(t, 79, h.code(t), "%s", h.errors)
			require.Contains(t, h.errors.String(), `hasp: "x" was lost while the command ran`)
		})
	}
}

// TestNoRight: whatever the server refuses a user for, also at the connection, the code is 77.
func TestNoRight(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	do(t, server, "ACL", "SETUSER", "alice", "on", ">secret", "~y", "+@all")
	do(t, server, "ACL", "SETUSER", "mute", "on", ">secret", "-@all")
	do(t, server, "ACL", "SETUSER", "first", "on", ">secret", "~*", "+@all", "-select")
	do(t, server, "CONFIG", "SET", "requirepass", "secret")
	for user, refusal := range map[string]string{
		"": "NOAUTH", ":wrong@": "WRONGPASS", "nobody:secret@": "WRONGPASS", "alice:secret@": "no permission", "mute:secret@": "NOPERM",
		"first:secret@": "'select'",
	} {
		h := ended(t, 77, "HASP_URL=redis://"+user+server.Addr()+"/1", "lock", "x", "--", "true")
		require.Contains(t, h.errors.String(), refusal)
	}
}

// TestFlagsOfRunners: each command that runs another heeds --prefix, --lease and -c, and those that wait -E.
func TestFlagsOfRunners(t *testing.T) {
	t.Parallel()
	server, all := startServer(t), map[string]*hasp{}
	run := func(args string) *hasp {
		return start(t, []string{onServer(server.Addr())}, words("--prefix p: "+strings.ReplaceAll(args, "once", "once --every 1000h"))...)
	}
	for _, c := range command.Root().Commands() {
		if name := c.Name(); c.Flags().Lookup("lease") != nil {
			all[name] = run(name + " x" + name + " --lease 1h --grace 10ms -c trap␣''␣TERM;echo␣begun;while␣:;do␣sleep␣0.01;done")
			eventually(t, func() bool { return all[name].output.String() == "begun\n" })
			require.Greater(t, must(must(server.Do("PTTL", "p:x"+name))(t).Int())(t), int64(1_800_000), name)
		}
	}
	for _, busy := range []string{"lock xlock", "read xwrite", "write xread", "slot xslot"} {
		require.Equal(t, 9, run(busy+" -E 9 --try -c true").code(t), busy)
	}
	for name, h := range all {
		h.signal(t, syscall.SIGTERM)
		require.Equal(t, 128+int(syscall.SIGKILL), h.code(t), name)
	}
}

// TestOnce runs a job on 20 processes at once, kills the first that runs it, and leaves one that has run it.
func TestOnce(t *testing.T) {
	t.Parallel()
	server, work := startServer(t), newShared(t)
	env := append(work.env("stubborn"), onServer(server.Addr()))
	job := []string{"once", "job", "--every", "1000h", "--wait"}
	winner := start(t, env, append(job, "--lease", lease, "--", os.Args[0])...)
	work.await(t, 1)
	var others []*hasp
	for range 20 {
		others = append(others, start(t, env, append(job, "--", "sh", "-c", "echo $HASP_OWNER 0 >>$WORK_FILE; echo ran")...))
	}
	winner.signal(t, syscall.SIGKILL)
	ran := ""
	for _, other := range others {
		require.Zero(t, other.code(t), other.errors)
		ran += other.output.String()
	}
	require.Equal(t, "ran\n", ran)
	require.Len(t, work.owners(t), 2)
}

// TestElect has the next candidate run its command when the leader is killed, and the leader again after a loss.
func TestElect(t *testing.T) {
	t.Parallel()
	server, work := startServer(t), newShared(t)
	env := append(work.env("stubborn"), onServer(server.Addr()))
	elect := []string{"elect", "e", "--lease", lease, "--value", "here", "--", os.Args[0]}
	observer := start(t, env, "elect", "e", "--observe")
	leader := start(t, env, elect...)
	work.await(t, 1)
	start(t, env, elect...)
	leader.signal(t, syscall.SIGKILL)
	work.await(t, 2)
	do(t, server, "DEL", "e")
	work.await(t, 3)
	eventually(t, func() bool { return strings.Count(observer.output.String(), "\there\n") >= 3 })
	observer.signal(t, syscall.SIGTERM)
	require.Equal(t, 128+int(syscall.SIGTERM), observer.code(t))
}
