--- Takes seven.
---@key k any     the key
---@arg a milliseconds how long
---@arg b seconds
---@arg c unixmilli
---@arg d int(-5..5)? may be left out
---@arg e float?
---@arg f milliseconds?
---@arg g seconds?
---@arg h unixmilli?
---@arg i int?
---@return int(0..100) n
if d then redis.call('set', k, d) end
if e or f or g or h or i then redis.call('set', k, a .. b .. c) end
return 1
