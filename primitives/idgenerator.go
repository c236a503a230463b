package primitives

import (
	"cmp"
	"context"
	"math"
	"sync"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// IDGenerator returns unique ids: no other caller of any process gets the same id. A client takes
// the ids from the server in blocks, so most calls of Next send nothing. Goroutines that need
// a block at the same time share one request.
//
// The ids of one client rise. Between clients they are not in the order of the calls. Some ids are
// skipped: the rest of a client's block when the client ends or crashes, and a block whose answer
// was lost. No id is repeated, as long as the server keeps its data: if it loses them, or a replica
// is promoted that lacks the last blocks, ids are repeated. The same happens if the keys are
// deleted or expire, so the type has no methods for that.
//
// The generators of one client with the same name share one block. An IDGenerator is safe for
// concurrent use.
//
// Source: Redisson's RIdGenerator, decimal texts at the name (the next id) and at {name}:allocation (the
// size of blocks).
type IDGenerator struct {
	object
	allocation string // the key of the size of blocks
	block      *idBlock
}

// NewIDGenerator returns the generator called name, as [Client.NewLock] does. For each name a client keeps some bytes,
// for the rest of the block.
func (c *Client) NewIDGenerator(name string) *IDGenerator {
	g := &IDGenerator{object: c.newObject("id generator", name, numberKind)}
	g.allocation = extend.Tagged(g.base.Key()) + idAllocationKey
	g.base = g.base.WithTypedKey("allocation key", g.allocation, numberKind)
	block, _ := c.idBlocks.LoadOrStore(g.base.Key(), new(idBlock))
	g.block = block.(*idBlock) //nolint:forcetypeassert // Only blocks are stored.
	return g
}

// Init sets the first id, and the size of blocks, at least 1. If the generator was initialized or
// used before, Init changes nothing and reports false. Without Init, ids begin at 1, in blocks of
// 5000.
func (g *IDGenerator) Init(ctx context.Context, first, blockSize int64) (bool, error) {
	invalid := cmp.Or(g.invalid, within("blockSize", blockSize, 1, math.MaxInt64))
	return extend.Call(ctx, &g.base, invalid, "initialize", func() (bool, error) {
		return script.IDInit(ctx, g.base.Runner(), g.base.Key(), g.allocation, first, blockSize)
	})
}

// Next returns the next id of the client's block. If the block is used up, Next takes another block
// from the server, in one round trip, or waits while another goroutine of the client takes one.
// After any error, [ErrIndeterminate] included, Next may be called again: then a block may be
// skipped. [ErrOverflow] means that no whole block is left in the range of int64.
func (g *IDGenerator) Next(ctx context.Context) (int64, error) {
	return extend.Call(ctx, &g.base, g.invalid, "draw from", func() (int64, error) { return g.next(ctx) })
}

func (g *IDGenerator) next(ctx context.Context) (int64, error) {
	for {
		id, request, mine := g.block.next()
		if request == nil {
			return id, nil
		}
		if mine {
			return g.takeBlock(ctx)
		}
		select {
		case <-request.done:
			if request.err != nil {
				return 0, request.err
			}
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// takeBlock takes a block from the server, for all goroutines that wait for it, and returns its
// first id. If the error comes from the end of this caller's context, the other goroutines do not
// get it: one of them asks again. The same holds after a panic of the driver.
func (g *IDGenerator) takeBlock(ctx context.Context) (first int64, err error) {
	var block script.IDBlockResult
	var shared error
	defer func() { g.block.refill(block, shared) }()
	block, err = script.IDBlock(ctx, g.base.Runner(), g.base.Key(), g.allocation)
	if ctx.Err() == nil {
		shared = err
	}
	return block.First, err
}

// idBlock is the rest of a client's last block.
type idBlock struct {
	mu      sync.Mutex
	first   int64
	left    int64
	request *blockRequest // nil: none is under way
}

// blockRequest is a request for the next block.
type blockRequest struct {
	done chan struct{} // closed when the request has ended
	err  error         // for all goroutines that wait for it; nil: they look again
}

// next takes an id. If the block is used up, it returns the request for the next block. If mine is
// true, the caller must make that request.
func (b *idBlock) next() (id int64, request *blockRequest, mine bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left > 0 {
		b.left--
		b.first++
		return b.first - 1, nil, false
	}
	if b.request == nil {
		b.request, mine = &blockRequest{done: make(chan struct{})}, true
	}
	return 0, b.request, mine
}

// refill ends the request. The first id of the block, if there is one, belongs to the caller that
// made the request.
func (b *idBlock) refill(block script.IDBlockResult, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if block.Size > 0 {
		b.first, b.left = block.First+1, block.Size-1
	}
	b.request.err = err
	close(b.request.done)
	b.request = nil
}
