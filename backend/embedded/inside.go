package embedded

import (
	"bufio"
	"bytes"
	"reflect"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// inside makes connections that miniredis takes for those of a running script: a command on them
// expects that the server is locked already, and is refused if scripts may not call it. Miniredis
// keeps this in a type of its own behind [server.Peer.Ctx], and makes one only for a script that it
// runs itself. So we let it run one, keep what it made, and copy that for each script of ours.
type inside struct {
	template reflect.Value // the struct behind Peer.Ctx
	sha      string        // of the script that it was made for, which stands in errors
}

// insideScripts is the same for all servers. It is nil if this version of miniredis does not work
// as described above; scripts are then left to miniredis, which is slow.
var insideScripts = sync.OnceValue(findInside)

func findInside() *inside {
	const script = "return redis.call('PING')"
	srv := newMini().Server()
	found := &inside{sha: sha1Hex(script)}
	srv.SetPreHook(func(peer *server.Peer, cmd string, _ ...string) bool {
		if state := reflect.ValueOf(peer.Ctx); cmd == "PING" && state.Kind() == reflect.Pointer {
			found.template = state.Elem()
		}
		return false
	})
	srv.Dispatch(server.NewPeer(bufio.NewWriter(&bytes.Buffer{})), []string{"EVAL", script, "0"})
	srv.SetPreHook(nil)
	if !found.template.IsValid() || !found.refuses(srv) {
		return nil
	}
	return found
}

// refuses reports whether srv refuses a command that scripts may not call.
func (i *inside) refuses(srv *server.Server) bool {
	var out bytes.Buffer
	peer := server.NewPeer(bufio.NewWriter(&out))
	peer.Ctx = i.newState()
	srv.Dispatch(peer, []string{"MULTI"})
	peer.Flush()
	return strings.Contains(out.String(), i.sha)
}

// newState returns what is the Ctx of all connections during one run of a script: SELECT in a script
// holds until the script ends.
func (i *inside) newState() any {
	fresh := reflect.New(i.template.Type())
	fresh.Elem().Set(i.template)
	return fresh.Interface()
}

// newMini returns a miniredis without a listener.
func newMini() *miniredis.Miniredis {
	mini := miniredis.NewMiniRedis()
	// The only way to start a miniredis without a listener is to dial it. Closing the inner
	// server ends what serves the connection, and leaves commands dispatchable.
	conn, err := mini.Dial()
	if err != nil {
		panic("embedded: starting the server: " + err.Error())
	}
	_ = conn.Close()
	mini.Server().Close()
	return mini
}
