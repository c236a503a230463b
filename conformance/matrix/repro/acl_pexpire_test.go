package repro

import (
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// acquireCommands are what lock_acquire calls to grant a free lock.
var acquireCommands = []string{"hlen", "time", "get", "set", "pexpire", "hset"}

// TestAcquireThatMayNotExpire acquires as a user whose ACL lacks a command, and who has no right to
// channels, as a new user has none: what the script has taken cannot be given back. Where PEXPIRE was
// refused, a lock stayed that nobody held, for ever.
func TestAcquireThatMayNotExpire(t *testing.T) {
	t.Parallel()
	for _, kind := range []servers.Kind{servers.Redis, servers.Valkey} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, kind, nil)
			for _, denied := range acquireCommands {
				acquireWithout(t, s, denied)
			}
		})
	}
}

func acquireWithout(t *testing.T, s *servers.Server, denied string) {
	t.Helper()
	_, err := restricted(t, s, denied).NewLock(denied, nil).Lock(t.Context())
	require.Error(t, err)
	require.Equal(t, denied, lastDenied(t, s), "the server has refused another command")
	require.Equal(t, int64(-2), pttl(t, s, denied), "a lock without a holder, as %s is denied", denied)
	require.NotEqual(t, int64(-1), pttl(t, s, "redisson_lock_token:{"+denied+"}"),
		"a token key without an expiry, as %s is denied", denied)
	lease, err := goRedis(t, s.Addr()).NewLock(denied, nil).TryLock(t.Context())
	require.NoError(t, err)
	require.NoError(t, lease.Unlock(t.Context()))
}

// restricted returns a client of a user who may do everything but call one command.
func restricted(t *testing.T, s *servers.Server, denied string) *primitives.Client {
	t.Helper()
	_, err := s.Do("ACL", "SETUSER", denied, "on", ">pw", "~*", "+@all", "-"+denied)
	require.NoError(t, err)
	_, err = s.Do("ACL", "LOG", "RESET")
	require.NoError(t, err)
	r, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.Addr()}, Username: denied, Password: "pw", DisableCache: true,
	})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	b, err := rueidisbackend.New(r, nil)
	require.NoError(t, err)
	return over(t, b, nil)
}

// lastDenied returns the command that the server refused first since the log was reset.
func lastDenied(t *testing.T, s *servers.Server) string {
	t.Helper()
	reply, err := s.Do("ACL", "LOG")
	require.NoError(t, err)
	entries, err := reply.Items()
	require.NoError(t, err)
	for _, entry := range entries {
		fields, err := entry.Items()
		require.NoError(t, err)
		text := map[string]string{}
		for i := 0; i+1 < len(fields); i += 2 {
			name, _ := fields[i].Text()
			text[name], _ = fields[i+1].Text()
		}
		if text["reason"] == "command" && text["context"] == "lua" {
			return strings.ToLower(text["object"])
		}
	}
	return ""
}

// TestAcquireWithoutMemory: a full server refuses an acquire. It would not, if the script's first
// write were the PEXPIRE of a lock that is not there.
func TestAcquireWithoutMemory(t *testing.T) {
	t.Parallel()
	for _, kind := range []servers.Kind{servers.Redis, servers.Valkey} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, kind, nil)
			c := goRedis(t, s.Addr())
			_, err := s.Do("CONFIG", "SET", "maxmemory", "1")
			require.NoError(t, err)
			_, err = c.NewLock("x", nil).TryLock(t.Context())
			require.ErrorContains(t, err, "OOM")
			require.Equal(t, int64(-2), pttl(t, s, "x"))
		})
	}
}
