package rueidisbackend

import (
	"context"
	"slices"
	"sync"

	"github.com/redis/rueidis"

	"github.com/hasp-go/hasp/backend/evalsha"
)

// pools takes connections out of the pools of a client's nodes. The client's own function knows no
// context, and may block for long: on a pool that is used up, or dialing. So that callers that gave up
// leave nothing behind, one goroutine for each node calls it for all callers; when they have left,
// it serves the next. It ends when the pool yields, or the client is closed.
type pools struct {
	mu    sync.Mutex
	queue map[string][]chan taken // the waiting callers, by node; has the node while a goroutine works
}

// taken is a connection, what gives it back, or a panic of the client.
type taken = evalsha.Result[dedicated]

type dedicated struct {
	conn    rueidis.DedicatedClient
	release func()
}

// take takes a connection out of the pool of node, whose client is client, and returns what gives
// it back.
func (p *pools) take(
	ctx context.Context, node string, client rueidis.Client,
) (conn rueidis.DedicatedClient, release func(), err error) {
	mine := p.join(node, client)
	select {
	case got := <-mine:
		d := got.Get()
		return d.conn, d.release, nil
	case <-ctx.Done():
		p.leave(node, mine)
		return nil, nil, ctx.Err()
	}
}

// join queues the caller, and sees to it that a goroutine works for the queue.
func (p *pools) join(node string, client rueidis.Client) chan taken {
	mine := make(chan taken, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	queue, working := p.queue[node]
	if p.queue == nil {
		p.queue = map[string][]chan taken{}
	}
	p.queue[node] = append(queue, mine)
	if !working {
		go p.work(node, client)
	}
	return mine
}

// leave takes the caller out of the queue. What it was given in the same instant is closed.
func (p *pools) leave(node string, mine chan taken) {
	p.mu.Lock()
	defer p.mu.Unlock()
	queue := p.queue[node]
	if i := slices.Index(queue, mine); i >= 0 {
		p.queue[node] = slices.Delete(queue, i, i+1)
		return
	}
	go discard(<-mine)
}

// work takes connections, one after the other, for as long as somebody waits.
func (p *pools) work(node string, client rueidis.Client) {
	for given, more := false, true; more; {
		got := evalsha.Catch(func() (d dedicated) {
			d.conn, d.release = client.Dedicate()
			return d
		})
		if given, more = p.hand(node, got); !given {
			discard(got)
		}
	}
}

// hand gives a connection to who has waited for longest, and reports whether there was one, and
// whether there are more.
func (p *pools) hand(node string, got taken) (given, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	queue := p.queue[node]
	if given = len(queue) > 0; given {
		queue[0] <- got
		queue = queue[1:]
	}
	if more = len(queue) > 0; more {
		p.queue[node] = queue
	} else {
		delete(p.queue, node)
	}
	return given, more
}

// discard closes a connection that nobody wants. It may wait for the server.
func discard(got taken) {
	evalsha.Catch(func() struct{} {
		got.Get().conn.Close()
		return struct{}{}
	})
}
