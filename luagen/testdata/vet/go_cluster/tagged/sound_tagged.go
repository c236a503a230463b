package tagged

import (
	"context"

	"github.com/redis/go-redis/v9"
)

var move = redis.NewScript(`return redis.call('lmove', KEYS[1], KEYS[2], 'LEFT', 'RIGHT') or ''`)

func tag(q string) string { return "{" + q + "}" }

func moves(ctx context.Context, q string) error {
	c := redis.NewClusterClient(&redis.ClusterOptions{})
	if err := move.Run(ctx, c, []string{"queue:{a}", "busy:[{a}]"}).Err(); err != nil {
		return err
	}
	return move.Run(ctx, c, []string{"queue:" + tag(q), "busy:" + tag(q)}).Err()
}
