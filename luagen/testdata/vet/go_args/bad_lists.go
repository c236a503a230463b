package args

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

var mark = rueidis.NewLuaScript(`return redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])`)
var add = redis.NewScript(`for i = 1, #ARGV do redis.call('sadd', KEYS[1], ARGV[i]) end`)

func lists(ctx context.Context, c *redis.Client, r rueidis.Client, ids []int64, names []string) {
	add.Run(ctx, c, []string{"a"}, ids)
	add.Run(ctx, c, []string{"a"}, names)
	mark.Exec(ctx, r, []string{"a"}, []string{"x", strconv.FormatInt(time.Now().UnixMilli(), 10)})
}
