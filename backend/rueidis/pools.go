package rueidisbackend

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/hasp-go/hasp/backend/evalsha"
)

// keptFor is how long a connection of the backend's own is used. It is less than a third of a usual lease, since an
// address may lead to another server meanwhile. ClientOption.ConnLifetime does not count outside the client's pool.
const keptFor = 10 * time.Second

// pools takes connections out of the pools of a client's nodes. It never puts one back: the client would then
// unsubscribe, with a PING behind, and ends the process if the server refuses that, as one that cannot save does.
// Instead it keeps connections on which calls wait for replicas.
//
// The client's own function knows no context, and may block for long: on a pool that is used up, or dialing. So that
// callers that gave up leave nothing behind, one goroutine for each node calls it for all callers; when they have
// left, it serves the next. It ends when the pool yields, or the client is closed.
type pools struct {
	mu    sync.Mutex
	queue map[string][]chan taken // the waiting callers, by node; has the node while a goroutine works

	kept   map[string][]*dedicated // by node, those that no call uses
	closed bool                    // none is kept
}

// taken is a connection, or a panic of the client.
type taken = evalsha.Result[*dedicated]

// dedicated is a connection out of the pool of node.
type dedicated struct {
	rueidis.DedicatedClient
	node string
	old  bool // it is not kept any more; guarded by the mutex of pools
}

// take takes a connection out of the pool of node, whose client is client.
func (p *pools) take(ctx context.Context, node string, client rueidis.Client) (*dedicated, error) {
	mine := p.join(node, client)
	select {
	case got := <-mine:
		return got.Get(), nil
	case <-ctx.Done():
		p.leave(node, mine)
		return nil, ctx.Err()
	}
}

// reuse returns a connection to node that was kept, or nil.
func (p *pools) reuse(node string) *dedicated {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.kept[node]) - 1
	if last < 0 {
		return nil
	}
	c := p.kept[node][last]
	p.kept[node] = p.kept[node][:last]
	return c
}

// keep keeps c for the next call, unless it is old.
func (p *pools) keep(c *dedicated) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || c.old {
		go c.Close() // It may wait for the server.
		return
	}
	if p.kept == nil {
		p.kept = map[string][]*dedicated{}
	}
	p.kept[c.node] = append(p.kept[c.node], c)
}

// retire closes c, or has keep close it.
func (p *pools) retire(c *dedicated) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.old = true
	if i := slices.Index(p.kept[c.node], c); i >= 0 {
		p.kept[c.node] = slices.Delete(p.kept[c.node], i, i+1)
		go c.Close()
	}
}

// close closes what is kept, now and later.
func (p *pools) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, kept := range p.kept {
		for _, c := range kept {
			go c.Close()
		}
	}
	p.kept = nil
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
		got := evalsha.Catch(func() *dedicated {
			conn, _ := client.Dedicate()
			c := &dedicated{DedicatedClient: conn, node: node}
			time.AfterFunc(keptFor, func() { p.retire(c) })
			return c
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
		got.Get().Close()
		return struct{}{}
	})
}
