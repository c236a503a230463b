package other

import "github.com/redis/go-redis/v9"

// No client gets the text in a table of a test.
var cases = []string{"if redis.call('exists', KEYS[1]) then return 1 end return 0"} // no script

var inTest = redis.NewScript(`if redis.call('exists', KEYS[1]) then return 'in a test' end return 0`)
