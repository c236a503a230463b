package primitives

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// IDGenerator returns ids, of which no other caller of any process gets the same. A client takes them
// from the server in blocks, so that most calls of Next send nothing. Goroutines that need a block at the
// same time share one request.
//
// A client's ids rise, but those of several clients do not come in the order in which they were asked
// for. Ids are skipped, and never repeated: what a client has left of its block when it ends or crashes, or
// a block whose answer was lost. That rests on the server: if it loses its data, or a replica is promoted
// that had not seen the last blocks, ids come again. So they do if the keys are deleted or expire, which
// is why the type has no methods for that.
//
// The generators of one client and name share their block. An IDGenerator is safe for concurrent use.
//
// Source: Redisson's RIdGenerator, decimal texts at the name (the next id) and at {name}:allocation (the
// size of blocks).
type IDGenerator struct {
	object
	allocation string // the key of the size of blocks
	block      *idBlock
}

// NewIDGenerator returns the generator called name. It sends nothing. The methods return a [*FieldError]
// for an empty name. In a cluster a name with braces must have its hash tag in them. A client keeps the
// rest of a block, some bytes, for each name.
func (c *Client) NewIDGenerator(name string) *IDGenerator {
	g := &IDGenerator{object: c.newObject("id generator", name, numberKind)}
	g.allocation = extend.Tagged(g.base.Key()) + idAllocationKey
	g.base = g.base.WithTypedKey("allocation key", g.allocation, numberKind)
	g.block = c.idBlocks.of(g.base.Key())
	return g
}

// Init sets the first id, and the size of blocks, at least 1. It reports false, and changes nothing, if
// the generator was initialized, or used, before. Without it ids begin at 1, in blocks of 5000.
func (g *IDGenerator) Init(ctx context.Context, first, blockSize int64) (bool, error) {
	invalid := g.invalid
	if blockSize < 1 && invalid == nil {
		invalid = &FieldError{
			Field: "blockSize", Problem: fmt.Sprintf("%d is not in 1..%d", blockSize, int64(math.MaxInt64)),
		}
	}
	return extend.Call(ctx, &g.base, invalid, "initialize", func() (bool, error) {
		return script.IDInit(ctx, g.base.Runner(), g.base.Key(), g.allocation, first, blockSize)
	})
}

// Next returns the next id of the client's block. If none is left it takes a block from the server, in one
// round trip, or waits for that which another goroutine of the client takes. After an error it may be
// called again, also after [ErrIndeterminate]: then a block may be skipped. [ErrOverflow] means that no
// whole block is left in the range of int64.
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

// takeBlock takes a block from the server, for all who wait for it, and returns its first id. An error by
// which the caller's context has ended is no concern of the others: one of them asks again. So it is after
// a panic of the driver.
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

// idBlocks are the blocks of a client's generators.
type idBlocks struct {
	mu     sync.Mutex
	blocks map[string]*idBlock // by key
}

func (b *idBlocks) of(key string) *idBlock {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.blocks == nil {
		b.blocks = make(map[string]*idBlock)
	}
	if b.blocks[key] == nil {
		b.blocks[key] = new(idBlock)
	}
	return b.blocks[key]
}

// idBlock is what a client has left of its last block.
type idBlock struct {
	mu      sync.Mutex
	first   int64
	left    int64
	request *blockRequest // nil: none is under way
}

// blockRequest is a request for the next block.
type blockRequest struct {
	done chan struct{} // closed when it has ended
	err  error         // of all who wait for it; nil: they look again
}

// next takes an id. If there is none, it returns the request for the next block, which the caller must
// make if it is mine.
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

// refill ends the request. The first id of the block, if there is one, is of the caller who made it.
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
