---@key k string
---@arg a int(0..100)
---@arg b int(1..10)
---@arg c int(1..10)
redis.call('expire', k, a - 50)
redis.call('expire', k, b - c)
