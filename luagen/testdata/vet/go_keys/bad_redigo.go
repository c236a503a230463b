package keys

import "github.com/gomodule/redigo/redis"

var (
	two   = redis.NewScript(1, `redis.call('del', KEYS[1], KEYS[2]) -- 70`)
	push  = redis.NewScript(1, `for i = 1, #ARGV do redis.call('rpush', KEYS[1], ARGV[i]) end`)
	check = redis.NewScript(2, `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end`)
)

func counted(c redis.Conn, id, token string, jobs []string) {
	two.Do(c, id+":a", id+":b")
	push.Do(c, 1, id, "job")
	push.Do(c, id, jobs)
	check.Do(c, id, token)
}
