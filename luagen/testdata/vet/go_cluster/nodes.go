package cluster

import (
	"context"

	"github.com/redis/rueidis"
)

var seen = rueidis.NewLuaScript(`
redis.call('set', KEYS[1] .. ':seen', ARGV[1], 'ex', 60)
return 1`)

func see(ctx context.Context, c rueidis.Client, id, now string) error {
	err := seen.Exec(ctx, c, []string{"session:{" + id + "}"}, []string{now}).Error()
	err = seen.Exec(ctx, c, []string{"session:" + id}, []string{now}).Error()
	return err
}
