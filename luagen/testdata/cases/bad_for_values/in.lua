---@key list any
for _, item in next, {'a', 'b'}, nil, 'more' do
  local value = item
  redis.call('rpush', list, value)
end
