package fanout

import "context"

// Dialer makes the connections of a [Hub]. Its methods must be safe for concurrent use and return
// promptly when ctx ends, even if the driver does not.
type Dialer interface {
	// Node names the node that serves channel, in a form that Dial takes. Channels of one node
	// share a connection (S3). A backend to whom all nodes are one returns the same name always,
	// such as "". The hub asks again after each loss, so it follows a failover. An answer
	// that is out of date does no harm if the server then refuses the channel with MOVED: the hub
	// turns to the node that the refusal names, in the server's spelling (host:port).
	Node(ctx context.Context, channel string) (string, error)

	// Dial opens a connection to node that is the backend's own, and reports what arrives on it
	// to events, until [Link.Close] was called. It may connect lazily. If it fails, nothing may be
	// left; if ctx ends while the driver cannot be interrupted, what comes late must be closed.
	Dial(ctx context.Context, node string, events Events) (Link, error)
}

// Link is one pub/sub connection. The hub makes one call at a time, except for Close. Each method
// must return promptly when ctx ends or the connection is lost; the hub then closes the link, so
// its state no longer matters.
type Link interface {
	// Subscribe subscribes to channels, of which there is at least one, and returns when the
	// server has answered for each. In a cluster with sharded pub/sub they need not share a slot.
	// The hub pings by it: it subscribes again to a channel that the link has. So a ping needs no
	// permission of its own, and goes to the connection that messages come on.
	//
	// It returns nil if all were acknowledged, else one error for each channel, in their order:
	// nil if it was acknowledged; a [*backend.ServerError] if the server refused it, which leaves
	// the link usable; anything else if the link is no longer usable.
	Subscribe(ctx context.Context, channels []string) []error

	// Close ends the connection at once, and with it the server-side subscriptions. It returns
	// promptly; nothing of the link is left soon after. Events reported later are ignored.
	Close()
}

// Unsubscriber is a [Link] that can end subscriptions. If a link cannot, those that nobody uses any more end
// with it: the hub replaces it each Options.IdleTimeout, or at once for [backend.Ender], and when it has a thousand of
// them. The next link takes over before the hub closes this one, so no message is lost. Handlers may get a notice.
type Unsubscriber interface {
	// Unsubscribe ends the subscriptions to channels. It may return before the server's answer,
	// but not before a later Subscribe is sure to reach the server after it. An error says that
	// the link is no longer usable.
	Unsubscribe(ctx context.Context, channels []string) error
}

// Follower is a [Link] to a node that may be replaced while it keeps running and answers, as a primary
// that its sentinels or its cluster can no longer reach: nothing is published there any more, and
// no ping shows it.
type Follower interface {
	// Left returns an error if the client now takes another node for the one that the link should
	// lead to: the link is then lost. It returns nil if the client does not, or if it cannot be
	// known. The hub calls it each Options.PingEvery, one call at a time but concurrently with the other
	// methods, so a slow answer delays nobody. It must return promptly when ctx ends, with
	// the link or after Options.AnswerWithin.
	Left(ctx context.Context) error
}

// Events takes what arrives on a link. The hub implements it. Calls for one link must be made one
// at a time and in the order of arrival: best by the one goroutine that reads. They do not block,
// and may be made from within a call of the [Link].
type Events interface {
	// Subscribed reports the server's acknowledgement of a subscription. It must be called before
	// Subscribe returns nil for the channel, and before what arrives after it is reported: a
	// message before this call is ignored, one after it is not.
	Subscribed(channel string)

	// Unsubscribed reports that the server ended a subscription: as asked, or by itself when a
	// slot left the node. Adapters need not distinguish these.
	Unsubscribed(channel string)

	// Message reports a message.
	Message(channel, payload string)

	// Lost reports that the connection ended. Only the first call counts.
	Lost(err error)
}
