package embedded

import (
	"bufio"
	"io"
	"reflect"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/hasp-go/hasp/backend/fanout"
)

// ReadReply decodes a whole reply.
var ReadReply = readReply

// Receive reports to events what comes in pieces on a connection of a subscriber. A piece of nothing ends the connection.
func Receive(events fanout.Events, pieces ...[]byte) {
	c := newConn(events)
	for _, piece := range pieces {
		if piece == nil {
			c.end()
		}
		_, _ = c.Write(piece)
	}
}

// NewPlainServer returns a server that leaves all scripts to miniredis.
func NewPlainServer() *Server {
	s := NewServer()
	s.scripts.inside = nil
	return s
}

// PassesForScript reports whether the state of a script's connection, or of another, is taken for a
// script's.
func PassesForScript(ofScript bool) bool {
	srv, tried := newMini().Server(), *insideScripts()
	if !ofScript {
		peer := server.NewPeer(bufio.NewWriter(io.Discard))
		srv.Dispatch(peer, []string{"PING"})
		tried.template = reflect.ValueOf(peer.Ctx).Elem()
	}
	return tried.refuses(srv)
}
