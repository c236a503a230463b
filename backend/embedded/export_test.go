package embedded

import "github.com/hasp-go/hasp/backend/fanout"

// ReadReply decodes a whole reply.
var ReadReply = readReply

// Receive reports to events what comes in pieces on a connection of a subscriber.
func Receive(events fanout.Events, pieces ...[]byte) {
	c := newConn(events)
	for _, piece := range pieces {
		_, _ = c.Write(piece)
	}
}
