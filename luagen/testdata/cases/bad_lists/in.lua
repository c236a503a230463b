---@key queues list...
---@key last string
---@key list string... prefix
---@arg ids string...
---@arg late string
---@arg more int...
---@arg pairs_of int... per late
---@arg of_more int... per ids
---@arg of_of int... per of_more
return redis.call('rpush', queues[1], last, ids, late, more, of_more)
