package rueidisbackend_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
)

// refusing returns a client of the server, which ends the client's only connection, and answers all of the next ones with
// refusal.
func (f *fakeServer) refusing(t *testing.T, refusal string, opts rueidis.ClientOption) rueidis.Client {
	t.Helper()
	opts.InitAddress, opts.DialCtxFn, opts.DisableCache = []string{"127.0.0.1:1"}, f.dial, true
	opts.PipelineMultiplex = -1
	client, err := rueidis.NewClient(opts)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	require.Error(t, client.Do(t.Context(), client.B().Arbitrary("x").Keys("k").Build()).Error())
	f.refusal.Store(refusal)
	return client
}

// runs answers scripts, and ends the connection of an x.
func runs(words []string) string {
	switch words[0] {
	case "x":
		return hangUp
	case "CLUSTER":
		return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n" + bulk("127.0.0.1") + ":1\r\n"
	}
	return ":1\r\n"
}

// TestRefusedConnection: a server that refuses what sets up a connection has answered no call, and executed none.
func TestRefusedConnection(t *testing.T) {
	t.Parallel()
	for refusal, text := range map[string]string{
		"-WRONGPASS bad pair\r\n":                "refused the connection: WRONGPASS bad pair",
		"-ERR max number of clients reached\r\n": "refused the connection: max number of clients reached",
		"-BUSY Redis is busy\r\n":                "refused the connection: BUSY Redis is busy",
		"_\r\n":                                  "refused the connection: ",
	} {
		for name, resp2 := range map[string]bool{" RESP2": true, " RESP3": false} {
			t.Run(text+name, func(t *testing.T) {
				t.Parallel()
				f := &fakeServer{answer: runs}
				client := f.refusing(t, refusal, rueidis.ClientOption{AlwaysRESP2: resp2, ForceSingleClient: true})
				b, err := rueidisbackend.New(client, &rueidisbackend.Options{RefusedFor: -1})
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, b.Close()) })
				_, err = b.Run(t.Context(), write, []string{"k"}, nil)
				requireNotExecuted(t, err, text)
				call := backend.Call{Script: write, Keys: []string{"k"}}
				for _, o := range backend.RunAll(t.Context(), b, []backend.Call{call, call}) {
					requireNotExecuted(t, o.Err, text)
				}
				for _, o := range runThenWait(t, b, 1, time.Second) {
					requireNotExecuted(t, o.Err, text)
				}
				require.NotContains(t, strings.Join(f.commands(), "\n"), "EVALSHA")
			})
		}
	}
}

func requireNotExecuted(t *testing.T, err error, text string) {
	t.Helper()
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.ErrorContains(t, err, text)
	require.False(t, backend.MayHaveRun(err))
	require.NotErrorAs(t, err, new(*backend.ServerError), "no server has answered the script")
}

// TestRefusedConnectionSaysNothingOfSharding: its code is that of a server that does not know the subcommand.
func TestRefusedConnectionSaysNothingOfSharding(t *testing.T) {
	t.Parallel()
	f := &fakeServer{answer: runs}
	client := f.refusing(t, "-ERR max number of clients reached\r\n", rueidis.ClientOption{})
	_, err := rueidisbackend.New(client, nil)
	require.ErrorContains(t, err, "refused the connection: max number of clients reached")
}
