package scripts

import (
	"fmt"

	"github.com/redis/go-redis/v9"
)

// twice has two values: of one the text is known, the other is named.
var twice = "return redis.call('get', KEYS[1])"

var soundOne = redis.NewScript(head + `return n`)

var soundTwo = redis.NewScript("if redis.call('incr', KEYS[1]) > tonumber(ARGV[1]) then\n\treturn 0\nend\nreturn 1")

const call = "redis.call"

func change() { twice = soundOne.Hash() }

func init() {
	redis.NewScript(twice)
	script := soundTwo.Hash()
	if twice != "" {
		script = "return redis.call('get', KEYS[1])"
	}
	redis.NewScript(script)
	redis.NewScript(fmt.Sprintf("return %s('set', KEYS[1], ARGV[1] %% %d)", call, 7))
	sum{}.Eval(0, 1+2)
	sum{}.Do("FUNCTION", "LOAD", "#!lua name=x\nredis.register_function('f', f)")
}

type sum struct{}

func (sum) Eval(a, b int) {}

func (sum) Do(words ...string) {}
