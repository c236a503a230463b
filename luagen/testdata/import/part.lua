local function get(key) return redis.call('get', key) end
