// Package fanout is the subscription hub that adapters share: it implements [backend.Subscriber]
// by its clauses S1 to S6 over what every driver has, a pub/sub connection to one node.
//
// The [Hub] counts references (one server-side subscription per channel, any number of handlers),
// waits for acknowledgements, notices links that were lost or went silent, subscribes again with
// growing pauses, and reports the gap to each handler once the server has acknowledged. Each handler
// has a bounded queue of its own, so a slow one delays nobody.
//
// An adapter gives it a [Dialer] and a [Link]: dial a connection to a node; send subscribe and
// unsubscribe on it and wait for the answers; report what arrives to [Events]; close.
// Neither counts, queues, retries nor subscribes again by itself.
//
// # Goroutines
//
// A hub without subscriptions has none, once an idle connection has lingered ([Options]). With
// subscriptions it has one for each connection, one while a channel waits to be (re)connected, and
// one for each handler that has events to work off. Hubs run inside testing/synctest.
package fanout
