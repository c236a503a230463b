package primitives_test

import (
	"context"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// fakeLink is a further backend on a fake server, with a connection of its own for messages.
type fakeLink struct {
	*fakeServer
	down bool // it is not connected for now; the server's mutex guards it
}

// Subscribe implements backend.Subscriber.
func (l *fakeLink) Subscribe(
	ctx context.Context, channel string, handler backend.Handler,
) (backend.Subscription, error) {
	sub, err := l.fakeServer.Subscribe(ctx, channel, handler)
	l.set(func() { sub.(*fakeSubscription).link = l }) //nolint:forcetypeassert // It is ours.
	return sub, err
}

// fakeAdderRequest is what those have answered who were asked.
type fakeAdderRequest struct {
	sum      float64
	answered int64
}

// adder does what the scripts of adders do.
func (s *fakeServer) adder(script string, keys, args []string) (reply backend.Reply, known bool) {
	request := s.adderRequests
	switch script {
	case "adder_ask":
		for i := 1; i < len(keys); i += 2 {
			request[keys[i]] = &fakeAdderRequest{}
		}
		return backend.IntegerReply(s.publishToLinks(args[3], args[0])), true
	case "adder_answer":
		if request[keys[1]] == nil {
			request[keys[1]] = &fakeAdderRequest{}
		}
		if counted := args[0] + args[1]; counted != "" { // one of them
			request[keys[1]].sum += double(counted)
		}
		request[keys[1]].answered++
		s.publish(args[4], strconv.FormatInt(request[keys[1]].answered, 10))
		return backend.IntegerReply(request[keys[1]].answered), true
	case "adder_here":
		if request[keys[0]] != nil {
			return backend.IntegerReply(1), true
		}
		return backend.IntegerReply(0), true
	case "adder_take":
		r := fakeAdderRequest{}
		for i := 1; i < len(keys); i += 2 {
			r.sum += request[keys[i]].sum
			r.answered += request[keys[i]].answered
		}
		if r.answered < int64(number(args[0])) {
			return backend.ArrayReply([]backend.Reply{backend.IntegerReply(r.answered), {}}), true
		}
		for _, key := range keys {
			delete(request, key)
		}
		return backend.ArrayReply([]backend.Reply{
			backend.IntegerReply(r.answered), backend.StringReply(decimal(r.sum)),
		}), true
	}
	return backend.Reply{}, false
}

// publishToLinks publishes to those who are connected, and returns how many connections these are.
func (s *fakeServer) publishToLinks(channel, payload string) int64 {
	links := map[*fakeLink]bool{}
	for sub, name := range s.handlers {
		if name == channel && (sub.link == nil || !sub.link.down) {
			links[sub.link] = true
			go func() {
				time.Sleep(time.Millisecond)
				sub.handler(backend.Event{Payload: payload})
			}()
		}
	}
	return int64(len(links))
}

// requests returns the requests to adders whose answers nobody has taken.
func (s *fakeServer) requests() (all []fakeAdderRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.adderRequests {
		all = append(all, *r)
	}
	return all
}
