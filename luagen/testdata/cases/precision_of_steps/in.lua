--- A literal step, and a bounded one, stay exact as far as counters go.
---@key counter string
---@key counts hash
---@arg few int(-100..100)
---@return int a
---@return int b
---@return int c
return {
  redis.call('incr', counter), redis.call('incrby', counter, 10) - 10,
  redis.call('hincrby', counts, 'n', few) - few,
}
