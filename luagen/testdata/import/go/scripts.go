package scripts

import "github.com/redis/go-redis/v9"

// deleteTaskCmd deletes a task.
//
// KEYS[1] -> app:{<queue>}:pending
// KEYS[2] -> app:{<queue>}:t:<task_id>
// ARGV[1] -> task ID
// Returns whether it was there.
var deleteTaskCmd = redis.NewScript(`
if redis.call("LREM", KEYS[1], 0, ARGV[1]) == 0 then
	return false
end
redis.call("HDEL", KEYS[2], "state")
return true
`)
