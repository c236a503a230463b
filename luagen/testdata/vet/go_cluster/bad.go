package cluster

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

var move = redis.NewScript(`return redis.call('lmove', KEYS[1], KEYS[2], 'LEFT', 'RIGHT') or ''`)

type queues struct {
	c      *redis.ClusterClient
	one    *redis.Client
	prefix string
}

const stock = "stock-prefix:"

func (s *queues) moves(ctx context.Context, q string, all []string) (err error) {
	waiting, busy := "queue:"+q, "busy:"+q
	err = move.Run(ctx, s.c, []string{waiting, busy}).Err()
	err = move.Run(ctx, s.c, []string{fmt.Sprintf("queue:%s", q), fmt.Sprintf("busy:%s", q)}).Err()
	err = move.Run(ctx, s.c, []string{"queue", stock + q}).Err()
	err = move.Run(ctx, s.c, []string{q + ":queue", q + ":busy"}).Err()

	// Of one node, or one name, and those of which the user may choose a part, or all.
	err = move.Run(ctx, s.one, []string{waiting, busy}).Err()
	err = move.Run(ctx, s.c, []string{waiting, "queue:" + q}).Err()
	err = move.Run(ctx, s.c, []string{s.prefix + "queue", s.prefix + "busy"}).Err()
	err = move.Run(ctx, s.c, []string{q, all[0]}).Err()
	return move.Run(ctx, s.c, all).Err()
}
